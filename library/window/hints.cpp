// SPDX-License-Identifier: BSD-3-Clause
#include "window/hints.h"

#include "core/functions.h"
#include "core/hints.h"
#include "core/info.h"
#include "window/state.h"

#include <bit>
#include <charconv>
#include <string_view>

namespace volley {
namespace {

bool is_boolean(std::string_view value) {
    return value == "true" || value == "false";
}

bool is_number(std::string_view value) {
    long long number = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    return error == std::errc() && end == value.data() + value.size() && number >= 0;
}

/// "none", or some of the four orders, each between a read and a write.
bool is_ordering(std::string_view value) {
    if (value == "none") return true;
    while (true) {
        const auto comma = value.find(',');
        const std::string_view order = value.substr(0, comma);
        if (order != "rar" && order != "raw" && order != "war" && order != "waw") return false;
        if (comma == std::string_view::npos) return true;
        value.remove_prefix(comma + 1);
    }
}

bool is_operations(std::string_view value) {
    return value == "same_op" || value == "same_op_no_op";
}

bool is_any(std::string_view) {
    return true;
}

/// The hints that the standard defines, and what holds where a program gives none. Accumulate operations are always
/// ordered and may always differ: promises of the program change nothing.
struct Hint {
    std::string_view key;
    const char *otherwise; ///< nullptr: told only if given
    bool (*is_valid)(std::string_view value);
    bool at_creation; ///< only
};

constexpr Hint hints[] = {
    {"no_locks", "false", is_boolean, true},
    {"accumulate_ordering", "rar,raw,war,waw", is_ordering, false},
    {"accumulate_ops", "same_op_no_op", is_operations, false},
    {"mpi_accumulate_granularity", "0", is_number, false},
    {"same_size", "false", is_boolean, true},
    {"same_disp_unit", "false", is_boolean, true},
    {"alloc_shared_noncontig", nullptr, is_boolean, true},
    {"mpi_minimum_memory_alignment", nullptr, is_number, true},
    {"mpi_assert_memory_alloc_kinds", nullptr, is_any, true},
};

void set_hints(Window &window, const Info *info, bool at_creation) {
    if (info == nullptr) return;
    for (const Hint &hint : hints) {
        const std::string *value = info->find(hint.key);
        if (value == nullptr || !hint.is_valid(*value) || (hint.at_creation && !at_creation)) continue;
        if (window.info == nullptr) window.info = Info::make();
        window.info->set(hint.key, *value);
    }
}

} // namespace

void set_creation_hints(Window &window, const Info *info) {
    set_hints(window, info, true);
    const std::string *no_locks = window.info != nullptr ? window.info->find("no_locks") : nullptr;
    window.state->refuses_locks = no_locks != nullptr && *no_locks == "true";
}

std::size_t alignment_hint(const Info *info) {
    const std::string *value = info != nullptr ? info->find("mpi_minimum_memory_alignment") : nullptr;
    std::size_t bytes = 1;
    if (value != nullptr) std::from_chars(value->data(), value->data() + value->size(), bytes);
    return std::has_single_bit(bytes) ? bytes : 1;
}

int mpi::Win_set_info(Window &win, Info *info) {
    set_hints(win, info, false);
    return MPI_SUCCESS;
}

int mpi::Win_get_info(Window &win, MPI_Info *info_used) {
    Info *used = win.info != nullptr ? Info::copy(win.info) : Info::make();
    for (const Hint &hint : hints)
        if (hint.otherwise != nullptr && used->find(hint.key) == nullptr) used->set(hint.key, hint.otherwise);
    if (win.predefined.flavor == MPI_WIN_FLAVOR_SHARED && used->find("alloc_shared_noncontig") == nullptr)
        used->set("alloc_shared_noncontig", "false");
    used->set(memory_kinds_key, memory_kinds);
    *info_used = used->handle();
    return MPI_SUCCESS;
}

} // namespace volley
