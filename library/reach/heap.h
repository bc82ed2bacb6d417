// SPDX-License-Identifier: BSD-3-Clause
/// Blocks of the arena for messages that wait there. Each rank hands out and takes back its own; others only read. A
/// block may go over to the rank that has read it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <vector>

namespace volley {

class ArenaHeap {
  public:
    /// At least `bytes`; nullptr if the arena is used up. Contents are undefined.
    void *allocate(std::size_t bytes);
    /// Takes back what allocate(bytes) gave. Large blocks give their pages back to the system once many are kept.
    void release(void *block, std::size_t bytes);
    /// Another rank has kept what allocate(bytes) gave.
    void forget(std::size_t bytes) {
        in_use_ -= block_size(bytes);
    }
    /// Keeps a block that another rank's allocate(bytes) gave: it is the next to be handed out. Precondition: that one
    /// forgets it, and bytes <= keeps_pages.
    void adopt(void *block, std::size_t bytes) {
        free_blocks(block_size(bytes)).push_back({block, false});
    }
    /// Up to here blocks keep their pages: touching 256 new ones costs more than copying into them.
    static constexpr std::size_t keeps_pages = 1 << 20;
    /// Bytes handed out at present.
    std::size_t in_use() const {
        return in_use_;
    }

  private:
    static constexpr int smallest_bits = 12; ///< a page

    /// Blocks are powers of two.
    static std::size_t block_size(std::size_t bytes) {
        return std::bit_ceil(std::max(bytes, std::size_t{1} << smallest_bits));
    }
    struct Free {
        void *block;
        bool has_pages; ///< of a large block: they are counted in kept_
    };
    std::vector<Free> &free_blocks(std::size_t size);

    std::array<std::vector<Free>, 64 - smallest_bits> free_; ///< by power of two
    std::size_t in_use_ = 0;
    std::size_t kept_ = 0; ///< bytes of free large blocks that have their pages
};

} // namespace volley
