// SPDX-License-Identifier: BSD-3-Clause
/// The tool information interface, MPI_T (MPI 5.0, chapter 15): what all of its functions have in common.
///
/// It may be used before MPI_Init and after MPI_Finalize. Its functions take the rank's lock like all others
/// (core/lock.h), so several threads may call them, and what they read stands still meanwhile. They return error codes
/// of their own and raise nothing.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <unordered_map>

namespace volley::tool {

/// MPI_T_init_thread was called more often than MPI_T_finalize.
bool is_initialised();

/// Stores a result, unless the caller does not want it.
template <class Type> void give(Type *place, Type value) {
    if (place) *place = value;
}

/// A text as the interface returns it (MPI 5.0, section 15.3.3): as much as fits, with a null character at its end, and
/// in `length` what the whole text needs.
void give_text(std::string_view text, char *place, int *length);

// A table is what the interface counts and gives numbers to: variables, events, categories.

/// nullptr if the table has no such element.
template <class Table> auto *element_at(Table &table, int index) {
    return index >= 0 && static_cast<std::size_t>(index) < table.size() ? &table[static_cast<std::size_t>(index)]
                                                                        : nullptr;
}

/// What the functions ..._get_num return.
template <class Table> int give_number(const Table &table, int *number) {
    if (!number) return MPI_T_ERR_INVALID;
    *number = static_cast<int>(table.size());
    return MPI_SUCCESS;
}

/// What the functions ..._get_index return: the number of the element of that name for which `condition` holds.
template <class Table, class Condition>
int give_index(const Table &table, const char *name, int *index, Condition &&condition) {
    if (!name || !index) return MPI_T_ERR_INVALID;
    const auto found = std::ranges::find_if(
        table, [&](const auto &element) { return std::string_view(name) == element.name && condition(element); });
    if (found == table.end()) return MPI_T_ERR_INVALID_NAME;
    *index = static_cast<int>(found - table.begin());
    return MPI_SUCCESS;
}
template <class Table> int give_index(const Table &table, const char *name, int *index) {
    return give_index(table, name, index, [](const auto &) { return true; });
}

/// The objects that handles of one kind name.
template <class Type> class Handles {
  public:
    template <class... Arguments> Type *make(Arguments &&...arguments) {
        auto made = std::make_unique<Type>(std::forward<Arguments>(arguments)...);
        Type *object = made.get();
        objects_.emplace(object, std::move(made));
        return object;
    }
    /// nullptr if it names none.
    template <class Handle> Type *find(Handle handle) const {
        auto found = objects_.find(reinterpret_cast<const void *>(handle));
        return found == objects_.end() ? nullptr : found->second.get();
    }
    void destroy(Type *object) {
        objects_.erase(object);
    }
    void clear() {
        objects_.clear();
    }
    template <class Visit> void for_each(Visit &&visit) {
        for (auto &[handle, object] : objects_) visit(*object);
    }
    template <class Condition> void destroy_if(Condition &&condition) {
        std::erase_if(objects_, [&](const auto &entry) { return condition(*entry.second); });
    }

  private:
    std::unordered_map<const void *, std::unique_ptr<Type>> objects_;
};

// What each part does when the interface is finalised: all of its handles end.
void end_control_variables();
void end_performance_variables();
void end_events();

} // namespace volley::tool
