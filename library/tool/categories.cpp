// SPDX-License-Identifier: BSD-3-Clause
#include "tool/categories.h"

#include "core/functions.h"
#include "tool/control_variables.h"
#include "tool/events.h"
#include "tool/interface.h"
#include "tool/performance_variables.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace volley {
namespace tool {
namespace {

struct CategoryText {
    std::string_view name, description;
};
constexpr std::array<CategoryText, 7> categories = {{
    {"volley", "what this MPI library tells and lets be set"},
    {"volley_messages", "messages between ranks and how they are matched"},
    {"volley_transports", "what carries messages"},
    {"volley_waiting", "how ranks wait for each other"},
    {"volley_collectives", "collective operations"},
    {"volley_memory", "the memory that the ranks of a host share"},
    {"volley_testing", "for tests of the library"},
}};
/// Nothing is added or removed while a program runs.
constexpr int changes = 0;

bool exists(int index) {
    return element_at(categories, index) != nullptr;
}

/// The indices of what is in the category.
template <class Item> std::vector<int> members(const std::vector<Item> &items, int category) {
    std::vector<int> found;
    for (std::size_t index = 0; index < items.size(); index++)
        if (static_cast<int>(items[index].category) == category) found.push_back(static_cast<int>(index));
    return found;
}

std::vector<int> subcategories(int category) {
    std::vector<int> found;
    if (category == static_cast<int>(Category::all))
        for (std::size_t index = 1; index < categories.size(); index++) found.push_back(static_cast<int>(index));
    return found;
}

int give_members(const std::vector<int> &found, int length, int *indices) {
    if (length < 0 || (length > 0 && !indices)) return MPI_T_ERR_INVALID;
    std::copy_n(found.begin(), std::min(static_cast<std::size_t>(length), found.size()), indices);
    return MPI_SUCCESS;
}

} // namespace
} // namespace tool

namespace mpi {

using namespace tool;

int T_category_get_num(int *num_cat) {
    return give_number(tool::categories, num_cat);
}

int T_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len, int *num_cvars,
                        int *num_pvars, int *num_categories) {
    const CategoryText *text = element_at(tool::categories, cat_index);
    if (!text) return MPI_T_ERR_INVALID_INDEX;
    give_text(text->name, name, name_len);
    give_text(text->description, desc, desc_len);
    give(num_cvars, static_cast<int>(members(control_variables(), cat_index).size()));
    give(num_pvars, static_cast<int>(members(performance_variables(), cat_index).size()));
    give(num_categories, static_cast<int>(subcategories(cat_index).size()));
    return MPI_SUCCESS;
}

int T_category_get_num_events(int cat_index, int *num_events) {
    if (!exists(cat_index)) return MPI_T_ERR_INVALID_INDEX;
    give(num_events, static_cast<int>(members(event_types(), cat_index).size()));
    return MPI_SUCCESS;
}

int T_category_get_index(const char *name, int *cat_index) {
    return give_index(tool::categories, name, cat_index);
}

int T_category_get_cvars(int cat_index, int len, int *indices) {
    return exists(cat_index) ? give_members(members(control_variables(), cat_index), len, indices)
                             : MPI_T_ERR_INVALID_INDEX;
}

int T_category_get_pvars(int cat_index, int len, int *indices) {
    return exists(cat_index) ? give_members(members(performance_variables(), cat_index), len, indices)
                             : MPI_T_ERR_INVALID_INDEX;
}

int T_category_get_events(int cat_index, int len, int *indices) {
    return exists(cat_index) ? give_members(members(event_types(), cat_index), len, indices) : MPI_T_ERR_INVALID_INDEX;
}

int T_category_get_categories(int cat_index, int len, int *indices) {
    return exists(cat_index) ? give_members(subcategories(cat_index), len, indices) : MPI_T_ERR_INVALID_INDEX;
}

int T_category_changed(int *update_number) {
    if (!update_number) return MPI_T_ERR_INVALID;
    *update_number = changes;
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
