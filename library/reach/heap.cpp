// SPDX-License-Identifier: BSD-3-Clause
#include "reach/heap.h"

#include "core/engine.h"

#include <sys/mman.h>

#include <cstdint>

namespace volley {
namespace {

/// Of larger blocks than keep their pages so many bytes in all: where the kernel refuses to copy, a message of 2 MiB
/// takes 1.6 ms with new pages each time, 0.3 ms with old ones (bench/messages.cpp).
constexpr std::size_t most_kept = 32 << 20;

constexpr std::uintptr_t page = 4096;

} // namespace

std::vector<ArenaHeap::Free> &ArenaHeap::free_blocks(std::size_t size) {
    return free_[static_cast<std::size_t>(std::countr_zero(size) - smallest_bits)];
}

void *ArenaHeap::allocate(std::size_t bytes) {
    std::size_t size = block_size(bytes);
    std::vector<Free> &list = free_blocks(size);
    void *block = nullptr;
    if (list.empty()) {
        block = arena_allocate(size);
        if (!block) return nullptr;
    } else {
        block = list.back().block;
        if (list.back().has_pages) kept_ -= size;
        list.pop_back();
    }
    in_use_ += size;
    return block;
}

void ArenaHeap::release(void *block, std::size_t bytes) {
    std::size_t size = block_size(bytes);
    in_use_ -= size;
    bool large = size > keeps_pages, keeps = large && kept_ + size <= most_kept;
    if (keeps) kept_ += size;
    if (large && !keeps) {
        // Whole pages only; blocks are aligned to cache lines.
        auto begin = (reinterpret_cast<std::uintptr_t>(block) + page - 1) / page * page;
        auto end = (reinterpret_cast<std::uintptr_t>(block) + size) / page * page;
        madvise(reinterpret_cast<void *>(begin), end - begin, MADV_REMOVE);
    }
    free_blocks(size).push_back({block, keeps});
}

} // namespace volley
