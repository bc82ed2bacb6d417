// SPDX-License-Identifier: BSD-3-Clause
#include "tool/enumeration.h"

#include "boot/settings.h"
#include "core/functions.h"
#include "tool/interface.h"

#include <algorithm>

namespace volley {
namespace tool {
namespace {

const Enumeration *const all[] = {&switch_enumeration, &transport_enumeration, &thread_level_enumeration,
                                  &wait_enumeration};

std::vector<Enumeration::Item> transport_items() {
    std::vector<Enumeration::Item> items;
    for (const auto &[transport, name] : transport_names) items.push_back({static_cast<int>(transport), name});
    return items;
}

/// nullptr for a handle that names none.
const Enumeration *find(MPI_T_enum handle) {
    for (const Enumeration *enumeration : all)
        if (enumeration->handle() == handle) return enumeration;
    return nullptr;
}

} // namespace

const Enumeration switch_enumeration{"volley_switch", {{0, "off"}, {1, "on"}}};
const Enumeration transport_enumeration{"volley_transport", transport_items()};
const Enumeration thread_level_enumeration{"volley_thread_level",
                                           {{MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
                                            {MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
                                            {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
                                            {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"}}};
const Enumeration wait_enumeration{"volley_wait",
                                   {{static_cast<int>(WaitKind::unknown), "other"},
                                    {static_cast<int>(WaitKind::receive), "receive"},
                                    {static_cast<int>(WaitKind::send), "send"},
                                    {static_cast<int>(WaitKind::step), "step of a collective operation"},
                                    {static_cast<int>(WaitKind::collective), "collective operation"},
                                    {static_cast<int>(WaitKind::round), "collective round"},
                                    {static_cast<int>(WaitKind::one_of), "one of several requests"}}};

bool Enumeration::has(int value) const {
    return std::ranges::find(items, value, &Item::value) != items.end();
}

} // namespace tool

namespace mpi {

int T_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len) {
    const tool::Enumeration *enumeration = tool::find(enumtype);
    if (!enumeration) return MPI_T_ERR_INVALID_HANDLE;
    tool::give(num, static_cast<int>(enumeration->items.size()));
    tool::give_text(enumeration->name, name, name_len);
    return MPI_SUCCESS;
}

int T_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len) {
    const tool::Enumeration *enumeration = tool::find(enumtype);
    if (!enumeration) return MPI_T_ERR_INVALID_HANDLE;
    if (indx < 0 || static_cast<std::size_t>(indx) >= enumeration->items.size()) return MPI_T_ERR_INVALID_INDEX;
    const auto &item = enumeration->items[static_cast<std::size_t>(indx)];
    tool::give(value, item.value);
    tool::give_text(item.name, name, name_len);
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
