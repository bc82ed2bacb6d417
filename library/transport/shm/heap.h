// SPDX-License-Identifier: BSD-3-Clause
/// Blocks of the arena for this rank's messages that wait there. The heap counts the bytes it has handed out. The rank
/// that has read a block may keep it.
#pragma once

#include "arena/block_cache.h"
#include "transport/memory.h"

#include <cstddef>

namespace volley {

class ArenaHeap {
  public:
    /// At least `bytes`; nullptr if the arena is used up. Contents are undefined. Long messages leave the last eighth
    /// of the arena to what nothing can stand in for: they can wait, and the first message to a rank needs a ring.
    void *allocate(std::size_t bytes) {
        if (bytes >= least_long_bytes) {
            const Allocator::Statistics arena = arena_statistics();
            if (arena.used + bytes > arena.whole - arena.whole / 8) return nullptr;
        }
        void *block = arena_allocate_undefined(bytes);
        if (block) in_use_ += bytes;
        return block;
    }
    /// Takes back what allocate(bytes) gave.
    void release(void *block, std::size_t bytes) {
        in_use_ -= bytes;
        arena_release(block, bytes);
    }
    /// Another rank has kept what allocate(bytes) gave.
    void forget(std::size_t bytes) {
        in_use_ -= bytes;
    }
    /// Keeps a block that another rank's allocate(bytes) gave: it is the next to be handed out. Precondition: the other
    /// rank forgets it, and bytes <= keeps_pages.
    static void adopt(void *block, std::size_t bytes) {
        arena_release(block, bytes);
    }
    /// Blocks up to this size stay with the rank that has released them, and so keep their pages.
    static constexpr std::size_t keeps_pages = BlockCache::largest;
    /// Bytes handed out at present.
    std::size_t in_use() const {
        return in_use_;
    }

  private:
    static constexpr std::size_t least_long_bytes = block_sizes::granule;

    std::size_t in_use_ = 0;
};

} // namespace volley
