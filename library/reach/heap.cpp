// SPDX-License-Identifier: BSD-3-Clause
#include "reach/heap.h"

#include "core/engine.h"

#include <sys/mman.h>

#include <bit>

namespace volley {
namespace {

/// Smaller blocks keep their pages: touching 256 new ones costs more than copying into them.
constexpr std::size_t keeps_pages = 1 << 20;

} // namespace

void *ArenaHeap::allocate(std::size_t bytes) {
    int bits = std::max(smallest_bits, static_cast<int>(std::bit_width(bytes - 1)));
    std::vector<void *> &list = free_[static_cast<std::size_t>(bits - smallest_bits)];
    void *block = nullptr;
    if (list.empty()) {
        block = arena_allocate(std::size_t{1} << bits);
        if (!block) return nullptr;
    } else {
        block = list.back();
        list.pop_back();
    }
    in_use_ += std::size_t{1} << bits;
    return block;
}

void ArenaHeap::release(void *block, std::size_t bytes) {
    int bits = std::max(smallest_bits, static_cast<int>(std::bit_width(bytes - 1)));
    std::size_t size = std::size_t{1} << bits;
    in_use_ -= size;
    // Whole pages only; blocks are aligned to cache lines.
    if (size > keeps_pages) {
        auto begin = (reinterpret_cast<std::uintptr_t>(block) + 4095) & ~std::uintptr_t{4095};
        auto end = (reinterpret_cast<std::uintptr_t>(block) + size) & ~std::uintptr_t{4095};
        madvise(reinterpret_cast<void *>(begin), end - begin, MADV_REMOVE);
    }
    free_[static_cast<std::size_t>(bits - smallest_bits)].push_back(block);
}

} // namespace volley
