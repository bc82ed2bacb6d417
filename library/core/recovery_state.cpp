// SPDX-License-Identifier: BSD-3-Clause
#include "core/recovery_state.h"

#include "boot/revocation.h"
#include "core/contexts.h"
#include "transport/memory.h"
#include "transport/node.h"

#include <algorithm>

namespace volley {
namespace {

/// An entry of the table: the generation of the context, and the offset of the state.
constexpr int offset_bits = 54;
constexpr std::uint64_t offset_mask = (std::uint64_t{1} << offset_bits) - 1;

std::uint64_t entry_for(std::uint32_t context, const RecoveryState &state) {
    return std::uint64_t{context_generation(context)} << offset_bits | arena_offset(&state);
}

using Table = std::atomic<std::uint64_t>;

/// nullptr if there is none, or no room for it.
Table *find_table() {
    std::uint64_t offset = node.shared->recovery.load(std::memory_order_acquire);
    if (offset != 0) return arena_pointer<Table>(offset);
    const std::size_t bytes = context_indices() * sizeof(Table);
    void *made = arena_allocate(bytes);
    if (!made) return nullptr;
    if (node.shared->recovery.compare_exchange_strong(offset, arena_offset(made), std::memory_order_acq_rel))
        return static_cast<Table *>(made);
    arena_release(made, bytes);
    return arena_pointer<Table>(offset);
}

bool have_arena(const Group &group) {
    return std::ranges::all_of(group.processes(), [](ProcessIndex process) { return processes[process].record; });
}

/// The state that an entry names, if it is that of this context.
RecoveryState *state_in(std::uint64_t entry, std::uint32_t context) {
    if (entry == 0 || entry >> offset_bits != context_generation(context)) return nullptr;
    return arena_pointer<RecoveryState>(entry & offset_mask);
}

} // namespace

bool share_arena(const Communicator &communicator) {
    return have_arena(communicator.local()) && have_arena(communicator.peer_group());
}

RecoveryState *recovery_state(const Communicator &communicator) {
    const std::uint32_t context = communicator.context(Traffic::program);
    if (context_index(context) >= context_indices() || !share_arena(communicator)) return nullptr;
    Table *table = find_table();
    if (!table) return nullptr;
    if (RecoveryState *found = state_in(table[context_index(context)].load(std::memory_order_acquire), context))
        return found;
    const auto members =
        static_cast<std::uint32_t>(communicator.size() + (communicator.is_inter() ? communicator.remote()->size() : 0));
    auto *made = static_cast<RecoveryState *>(arena_allocate(RecoveryState::footprint(members)));
    if (!made) return nullptr;
    made->members = members;
    std::atomic<std::uint64_t> &entry = table[context_index(context)];
    std::uint64_t earlier = entry.load(std::memory_order_acquire);
    while (!state_in(earlier, context)) {
        if (!entry.compare_exchange_weak(earlier, entry_for(context, *made), std::memory_order_acq_rel)) continue;
        if (earlier != 0) {
            auto *unused = arena_pointer<RecoveryState>(earlier & offset_mask);
            arena_release(unused, RecoveryState::footprint(unused->members));
        }
        return made;
    }
    arena_release(made, RecoveryState::footprint(members)); // another member was quicker
    return state_in(earlier, context);
}

bool was_revoked(const Communicator &communicator) {
    return is_revoked(*node.arena, communicator.context(Traffic::program));
}

} // namespace volley
