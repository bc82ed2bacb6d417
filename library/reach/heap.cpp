// SPDX-License-Identifier: BSD-3-Clause
#include "reach/heap.h"

#include "core/engine.h"

#include <sys/mman.h>

#include <cstdint>

namespace volley {
namespace {

/// Smaller blocks keep their pages: touching 256 new ones costs more than copying into them.
constexpr std::size_t keeps_pages = 1 << 20;

constexpr std::uintptr_t page = 4096;

} // namespace

std::vector<void *> &ArenaHeap::free_blocks(std::size_t size) {
    return free_[static_cast<std::size_t>(std::countr_zero(size) - smallest_bits)];
}

void *ArenaHeap::allocate(std::size_t bytes) {
    std::size_t size = block_size(bytes);
    std::vector<void *> &list = free_blocks(size);
    void *block = nullptr;
    if (list.empty()) {
        block = arena_allocate(size);
        if (!block) return nullptr;
    } else {
        block = list.back();
        list.pop_back();
    }
    in_use_ += size;
    return block;
}

void ArenaHeap::release(void *block, std::size_t bytes) {
    std::size_t size = block_size(bytes);
    in_use_ -= size;
    // Whole pages only; blocks are aligned to cache lines.
    if (size > keeps_pages) {
        auto begin = (reinterpret_cast<std::uintptr_t>(block) + page - 1) / page * page;
        auto end = (reinterpret_cast<std::uintptr_t>(block) + size) / page * page;
        madvise(reinterpret_cast<void *>(begin), end - begin, MADV_REMOVE);
    }
    free_blocks(size).push_back(block);
}

} // namespace volley
