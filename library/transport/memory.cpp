// SPDX-License-Identifier: BSD-3-Clause
#include "transport/memory.h"

#include "arena/block_cache.h"
#include "transport/node.h"

#include <algorithm>

namespace volley {
namespace {

constexpr std::uint64_t mebi = 1 << 20;

/// So many bytes per rank of free blocks above 1 MiB keep their pages (where the kernel refuses to copy, a message of 2
/// MiB takes 1.6 ms with new pages each time, 0.3 ms with old ones; bench/messages.cpp). All ranks together keep no
/// more than a few ranks' share.
constexpr std::uint64_t most_kept_per_rank = 32 * mebi;
constexpr std::uint64_t most_ranks_counted = 4;

/// So many bytes of smaller blocks stay with a rank: some of each size, and only a part of a small arena.
constexpr std::uint64_t most_cached = 8 * mebi;
constexpr std::uint64_t cached_part = 16;

Allocator *allocator = nullptr;
BlockCache cache;
std::uint64_t asked = 0;

/// For tests: the allocation that the user has chosen is refused.
bool is_refused() {
    return ++asked == node.settings.refused_allocation;
}

} // namespace

void open_memory() {
    ArenaHead &arena = *node.arena;
    std::uint64_t bytes = arena.bytes - arena.memory;
    std::uint64_t counted = std::min<std::uint64_t>(arena.ranks, most_ranks_counted);
    allocator =
        &Allocator::open(arena_pointer<void>(arena.memory), bytes, std::min(counted * most_kept_per_rank, bytes / 4));
    cache.attach(*allocator, std::min(most_cached, bytes / cached_part / arena.ranks));
}

void *arena_allocate(std::size_t bytes) {
    return is_refused() ? nullptr : cache.allocate_zeroed(bytes);
}

void *arena_allocate_undefined(std::size_t bytes) {
    return is_refused() ? nullptr : cache.allocate(bytes);
}

void arena_release(void *block, std::size_t bytes) {
    cache.release(block, bytes);
}

void arena_release(void *block, std::size_t bytes, std::size_t touched) {
    cache.release(block, bytes, touched);
}

Allocator::Statistics arena_statistics() {
    return allocator->statistics();
}

} // namespace volley
