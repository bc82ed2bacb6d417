// SPDX-License-Identifier: BSD-3-Clause
/// Which communicators were revoked: a table in the arena, for those that ranks of this host are in. The index of a
/// context finds 1 + the generation that was revoked last. Ranks write it, and node daemons for ranks of other hosts.
/// Whoever has written raises ArenaHead::incidents and wakes all ranks.
#pragma once

#include "boot/context_number.h"
#include "boot/job.h"

#include <atomic>
#include <cstdint>

namespace volley {

using RevokedGeneration = std::atomic<std::uint16_t>;

inline RevokedGeneration *revoked_generation(ArenaHead &arena, std::uint32_t context) {
    const std::uint32_t index = index_of_context(context);
    if (index >= arena.revocable) return nullptr;
    return reinterpret_cast<RevokedGeneration *>(reinterpret_cast<char *>(&arena) + arena.revoked) + index;
}

inline bool is_revoked(ArenaHead &arena, std::uint32_t context) {
    const RevokedGeneration *revoked = revoked_generation(arena, context);
    return revoked != nullptr && revoked->load(std::memory_order_acquire) == generation_of_context(context) + 1;
}

/// False if the table has no place for it. News of an earlier communicator with that index may come late.
inline bool note_revoked(ArenaHead &arena, std::uint32_t context) {
    RevokedGeneration *revoked = revoked_generation(arena, context);
    if (revoked == nullptr) return false;
    const std::uint32_t generation = generation_of_context(context);
    std::uint16_t before = revoked->load(std::memory_order_relaxed);
    const auto is_later = [&] {
        return before == 0 || (generation + 1 - before) % context_generations < context_generations / 2;
    };
    while (is_later() && !revoked->compare_exchange_weak(before, static_cast<std::uint16_t>(generation + 1),
                                                         std::memory_order_release, std::memory_order_relaxed)) {}
    arena.incidents.fetch_add(1, std::memory_order_acq_rel);
    return true;
}

} // namespace volley
