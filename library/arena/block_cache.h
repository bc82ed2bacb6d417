// SPDX-License-Identifier: BSD-3-Clause
/// One rank's cache in front of the allocator. Blocks up to 1 MiB that the rank has released stay here for a while. The
/// last one released is the first to be handed out, since it is likely in the rank's caches. These blocks cost no lock,
/// and keep their pages (touching 256 new pages costs more than copying into them).
#pragma once

#include "arena/allocator.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace volley {

class BlockCache {
  public:
    /// Blocks of up to so many bytes in all stay here.
    void attach(Allocator &allocator, std::size_t most_bytes);

    /// At least `bytes`, whose contents are undefined; nullptr if the memory is used up.
    void *allocate(std::size_t bytes);
    /// The same, zeroed.
    void *allocate_zeroed(std::size_t bytes);
    /// Takes back what anybody's allocation of so many bytes returned. If the block stays here, it is the next to be
    /// handed out. Nobody has written beyond the first `touched` bytes.
    void release(void *block, std::size_t bytes, std::size_t touched);
    void release(void *block, std::size_t bytes) {
        release(block, bytes, bytes);
    }
    /// Gives all blocks back to the allocator.
    void flush();

    static constexpr std::size_t largest = 1 << 20;

  private:
    static constexpr std::size_t smaller = block_sizes::small.size();
    static constexpr std::size_t most_blocks = 64;
    struct Shelf {
        std::array<void *, most_blocks> blocks;
        std::size_t count;
    };

    /// One per size of small blocks, one per number of granules.
    static std::size_t shelf_of(std::size_t bytes) {
        std::size_t size_class = block_sizes::class_of(bytes);
        return size_class < smaller ? size_class : smaller + block_sizes::granules(bytes) - 1;
    }
    void *take(std::size_t bytes);
    void give_back_older(Shelf &shelf, std::size_t count, std::size_t size);

    Allocator *allocator_ = nullptr;
    std::size_t most_bytes_ = 0;
    std::size_t bytes_ = 0; ///< in all blocks here
    std::array<Shelf, smaller + largest / block_sizes::granule> shelves_{};
};

} // namespace volley
