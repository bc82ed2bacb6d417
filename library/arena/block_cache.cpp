// SPDX-License-Identifier: BSD-3-Clause
#include "arena/block_cache.h"

#include <algorithm>
#include <cstring>

namespace volley {

void BlockCache::attach(Allocator &allocator, std::size_t most_bytes) {
    allocator_ = &allocator;
    most_bytes_ = most_bytes;
}

/// One that is here, or nullptr.
void *BlockCache::take(std::size_t bytes) {
    if (bytes > largest) return nullptr;
    Shelf &shelf = shelves_[shelf_of(bytes)];
    if (shelf.count == 0) return nullptr;
    bytes_ -= block_sizes::whole(bytes);
    return shelf.blocks[--shelf.count];
}

void *BlockCache::allocate(std::size_t bytes) {
    if (void *block = take(bytes)) return block;
    void *block = allocator_->allocate(bytes);
    if (block || bytes_ == 0) return block;
    flush();
    return allocator_->allocate(bytes);
}

void *BlockCache::allocate_zeroed(std::size_t bytes) {
    if (void *block = take(bytes)) return std::memset(block, 0, bytes);
    // Of new memory the allocator knows that it is zero.
    void *block = allocator_->allocate_zeroed(bytes);
    if (block || bytes_ == 0) return block;
    flush();
    return allocator_->allocate_zeroed(bytes);
}

void BlockCache::release(void *block, std::size_t bytes, std::size_t touched) {
    std::size_t size = block_sizes::whole(bytes);
    if (bytes > largest || bytes_ + size > most_bytes_) return allocator_->release(block, bytes, touched);
    Shelf &shelf = shelves_[shelf_of(bytes)];
    // Some of each size, and no more than a MiB, but two of the largest: a message under way and the next one.
    std::size_t room = std::clamp<std::size_t>(largest / size, 2, most_blocks);
    if (shelf.count == room) give_back_older(shelf, room / 2, size);
    shelf.blocks[shelf.count++] = block;
    bytes_ += size;
}

void BlockCache::give_back_older(Shelf &shelf, std::size_t count, std::size_t size) {
    for (std::size_t i = 0; i < count; i++) allocator_->release(shelf.blocks[i], size);
    std::copy(shelf.blocks.begin() + static_cast<std::ptrdiff_t>(count),
              shelf.blocks.begin() + static_cast<std::ptrdiff_t>(shelf.count), shelf.blocks.begin());
    shelf.count -= count;
    bytes_ -= count * size;
}

void BlockCache::flush() {
    for (std::size_t i = 0; i < shelves_.size(); i++) {
        std::size_t size = i < smaller ? block_sizes::small[i] : (i - smaller + 1) * block_sizes::granule;
        give_back_older(shelves_[i], shelves_[i].count, size);
    }
}

} // namespace volley
