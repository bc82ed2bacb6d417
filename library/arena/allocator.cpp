// SPDX-License-Identifier: BSD-3-Clause
#include "arena/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <mutex>

namespace volley {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t word_bits = 64;

constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
    return (bytes + page - 1) / page * page;
}

constexpr std::uint32_t log2_floor(std::uint64_t number) {
    return static_cast<std::uint32_t>(std::bit_width(number) - 1);
}

constexpr std::uint64_t blocks_of(std::size_t size_class) {
    return block_sizes::granule / block_sizes::small[size_class];
}

/// The bits of one word that belong to granules [number, number + length).
std::uint64_t bits_in_word(std::uint64_t number, std::uint64_t length) {
    std::uint64_t begin = number % word_bits, count = std::min(length, word_bits - begin);
    return (count == word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << begin;
}

} // namespace

Allocator::Granule &Allocator::granule(std::uint64_t number) const {
    return reinterpret_cast<Granule *>(reinterpret_cast<std::uintptr_t>(this) + tables_)[number];
}

Allocator::BlockMap &Allocator::block_map(std::uint64_t number) const {
    return reinterpret_cast<BlockMap *>(reinterpret_cast<std::uintptr_t>(this) + maps_)[number];
}

/// The bits of granules that share a word. A bit of a free granule belongs to the lock's holder, a bit of a granule
/// that was handed out to its owner; all changes are made under the lock.
std::atomic<std::uint64_t> &Allocator::soiled_word(std::uint64_t number) const {
    return reinterpret_cast<std::atomic<std::uint64_t> *>(reinterpret_cast<std::uintptr_t>(this) +
                                                          soil_)[number / word_bits];
}

char *Allocator::address(std::uint64_t number) const {
    return reinterpret_cast<char *>(reinterpret_cast<std::uintptr_t>(this) + memory_) + number * block_sizes::granule;
}

std::uint64_t Allocator::number_of(const void *block) const {
    return static_cast<std::uint64_t>(static_cast<const char *>(block) - address(0)) / block_sizes::granule;
}

Allocator &Allocator::open(void *memory, std::uint64_t bytes, std::uint64_t most_kept) {
    auto *allocator = static_cast<Allocator *>(memory);
    std::scoped_lock hold(allocator->lock_);
    if (allocator->made_ == 0) allocator->make(bytes, most_kept);
    return *allocator;
}

/// Memory of zeros has no free runs, and all counts are 0.
void Allocator::make(std::uint64_t bytes, std::uint64_t most_kept) {
    assert(bytes >= least_bytes);
    // Tables for all granules that the region could have if there were no tables.
    std::uint64_t most = bytes / block_sizes::granule;
    tables_ = whole_pages(sizeof *this);
    maps_ = whole_pages(tables_ + most * sizeof(Granule));
    soil_ = whole_pages(maps_ + most * sizeof(BlockMap));
    memory_ = whole_pages(soil_ + (most + word_bits - 1) / word_bits * sizeof(std::uint64_t));
    granules_ = (bytes - memory_) / block_sizes::granule;
    most_kept_ = most_kept;
    taken_.store(granules_ * block_sizes::granule, relaxed);
    return_run(0, granules_);
    made_ = 1;
}

void *Allocator::allocate(std::size_t bytes) {
    std::size_t size_class = block_sizes::class_of(bytes);
    bool small = size_class < block_sizes::small.size();
    if (!small && bytes > granules_ * block_sizes::granule) return nullptr; // so that rounding cannot overflow
    return small ? allocate_small(size_class) : allocate_run(block_sizes::granules(bytes));
}

void *Allocator::allocate_zeroed(std::size_t bytes) {
    void *block = allocate(bytes);
    if (!block) return nullptr;
    if (block_sizes::class_of(bytes) < block_sizes::small.size())
        std::memset(block, 0, bytes);
    else
        clean(block, block_sizes::granules(bytes));
    return block;
}

void Allocator::release(void *block, std::size_t bytes, std::size_t touched) {
    std::size_t size_class = block_sizes::class_of(bytes);
    if (size_class < block_sizes::small.size())
        release_small(block, size_class);
    else
        release_run(block, block_sizes::granules(bytes), block_sizes::granules(touched));
}

Allocator::Statistics Allocator::statistics() const {
    return {granules_ * block_sizes::granule, used_.load(relaxed), highest_.load(relaxed), taken_.load(relaxed),
            kept_.load(relaxed)};
}

/// There is one writer at a time, so the addition need not be atomic. `change` may be negative, modulo 2^64.
void Allocator::count(std::atomic<std::uint64_t> &counter, std::uint64_t change) {
    counter.store(counter.load(relaxed) + change, relaxed);
}

void Allocator::count_used(std::size_t bytes) {
    count(used_, bytes);
    if (std::uint64_t used = used_.load(relaxed); used > highest_.load(relaxed)) highest_.store(used, relaxed);
}

void Allocator::push(List &list, std::uint64_t number) {
    Granule &added = granule(number);
    added.previous = 0;
    added.next = list.first;
    if (list.first != 0) granule(list.first - 1).previous = static_cast<Link>(number + 1);
    list.first = static_cast<Link>(number + 1);
}

void Allocator::remove(List &list, std::uint64_t number) {
    const Granule &removed = granule(number);
    if (removed.previous != 0)
        granule(removed.previous - 1).next = removed.next;
    else
        list.first = removed.next;
    if (removed.next != 0) granule(removed.next - 1).previous = removed.previous;
}

// --- Runs of granules: the buddy system.

/// Finds a run, under the lock. False if there is none.
bool Allocator::take_run(std::uint64_t length, std::uint64_t &number) {
    auto wanted = static_cast<std::uint32_t>(std::bit_width(length - 1));
    std::uint64_t longer = wanted < runs_.size() ? orders_ >> wanted << wanted : 0;
    if (longer == 0) return false;
    auto order = static_cast<std::uint32_t>(std::countr_zero(longer));
    number = runs_[order].first - 1;
    remove_run(number);
    granule(number).use = Use::given;
    granule(number).count = static_cast<std::uint32_t>(length);
    split(number, order, length);
    count(taken_, length * block_sizes::granule);
    count(kept_, -(soiled(number, length) * block_sizes::granule));
    return true;
}

/// Gives back the granules of a run of 2^order beyond `length`. None of these pieces finds its other half free.
void Allocator::split(std::uint64_t number, std::uint32_t order, std::uint64_t length) {
    std::uint64_t end = std::uint64_t{1} << order;
    for (std::uint64_t begin = length; begin < end;) {
        auto size = static_cast<std::uint32_t>(std::countr_zero(begin));
        insert_run(number + begin, size);
        begin += std::uint64_t{1} << size;
    }
}

/// Called under the lock, when the soiled bits of the run are up to date.
void Allocator::return_run(std::uint64_t number, std::uint64_t length) {
    count(taken_, -(length * block_sizes::granule));
    count(kept_, soiled(number, length) * block_sizes::granule);
    while (length > 0) {
        std::uint32_t order = log2_floor(length);
        if (number != 0) order = std::min(order, static_cast<std::uint32_t>(std::countr_zero(number)));
        std::uint64_t piece = std::uint64_t{1} << order, begin = number;
        number += piece;
        length -= piece;
        // Joined with its other half as long as that is free.
        for (;; order++) {
            std::uint64_t other = begin ^ (std::uint64_t{1} << order);
            if (other + (std::uint64_t{1} << order) > granules_ || granule(other).use != Use::free ||
                granule(other).count != order)
                break;
            remove_run(other);
            granule(std::max(begin, other)).use = Use::inside;
            begin = std::min(begin, other);
        }
        insert_run(begin, order);
    }
}

void Allocator::insert_run(std::uint64_t number, std::uint32_t order) {
    Granule &first = granule(number);
    first.use = Use::free;
    first.count = order;
    push(runs_[order], number);
    orders_ |= std::uint64_t{1} << order;
}

void Allocator::remove_run(std::uint64_t number) {
    std::uint32_t order = granule(number).count;
    remove(runs_[order], number);
    if (runs_[order].first == 0) orders_ &= ~(std::uint64_t{1} << order);
}

/// How many of these granules may hold something.
std::uint64_t Allocator::soiled(std::uint64_t number, std::uint64_t length) const {
    std::uint64_t found = 0;
    for (std::uint64_t end = number + length; number < end; number = (number / word_bits + 1) * word_bits)
        found += static_cast<std::uint64_t>(
            std::popcount(soiled_word(number).load(relaxed) & bits_in_word(number, end - number)));
    return found;
}

void Allocator::mark(std::uint64_t number, std::uint64_t length, bool soiled) {
    for (std::uint64_t end = number + length; number < end; number = (number / word_bits + 1) * word_bits) {
        std::atomic<std::uint64_t> &word = soiled_word(number);
        std::uint64_t bits = bits_in_word(number, end - number), others = word.load(relaxed) & ~bits;
        word.store(soiled ? others | bits : others, relaxed);
    }
}

void *Allocator::allocate_run(std::uint64_t length) {
    std::scoped_lock hold(lock_);
    std::uint64_t number;
    if (!take_run(length, number)) return nullptr;
    count_used(length * block_sizes::granule);
    return address(number);
}

void Allocator::release_run(void *block, std::uint64_t length, std::uint64_t touched) {
    std::uint64_t number = number_of(block), bytes = length * block_sizes::granule;
    assert(granule(number).use == Use::given && granule(number).count == length);
    // This is a system call, so it is made before the lock is taken; two ranks that do this at the same time may keep,
    // or give back, one block more. Memory that is not backed by a file refuses the call, and keeps its pages.
    bool keeps =
        kept_.load(relaxed) + touched * block_sizes::granule <= most_kept_ || madvise(block, bytes, MADV_REMOVE) != 0;
    std::scoped_lock hold(lock_);
    // What was not touched is as it was when it was handed out.
    mark(number, keeps ? touched : length, keeps);
    return_run(number, length);
    count(used_, -bytes);
}

/// Zeros a run that its caller has just been given. Nobody else changes its bits.
void Allocator::clean(void *block, std::uint64_t length) {
    std::uint64_t first = number_of(block);
    for (std::uint64_t number = first; number < first + length; number++)
        if ((soiled_word(number).load(relaxed) >> number % word_bits & 1) != 0)
            std::memset(address(number), 0, block_sizes::granule);
}

// --- Small blocks.

/// Divides a granule into blocks, under the lock. False if none is free.
bool Allocator::divide(std::size_t size_class) {
    std::uint64_t number;
    if (!take_run(1, number)) return false;
    auto blocks = blocks_of(size_class);
    Granule &divided = granule(number);
    divided.use = Use::divided;
    divided.size_class = static_cast<std::uint8_t>(size_class);
    divided.count = static_cast<std::uint32_t>(blocks);
    BlockMap &map = block_map(number);
    for (std::uint64_t word = 0; word < map_words && word * word_bits < blocks; word++)
        map[word] = bits_in_word(0, blocks - word * word_bits);
    push(divided_[size_class], number);
    return true;
}

void *Allocator::allocate_small(std::size_t size_class) {
    std::scoped_lock hold(lock_);
    List &list = divided_[size_class];
    if (list.first == 0 && !divide(size_class)) return nullptr;
    std::uint64_t number = list.first - 1;
    std::uint64_t *word = block_map(number).data();
    while (*word == 0) word++;
    auto block = static_cast<std::uint64_t>(word - block_map(number).data()) * word_bits +
                 static_cast<std::uint64_t>(std::countr_zero(*word));
    *word &= *word - 1;
    if (--granule(number).count == 0) remove(list, number);
    count_used(block_sizes::small[size_class]);
    return address(number) + block * block_sizes::small[size_class];
}

void Allocator::release_small(void *block, std::size_t size_class) {
    std::scoped_lock hold(lock_);
    std::uint64_t number = number_of(block);
    auto index =
        static_cast<std::uint64_t>(static_cast<char *>(block) - address(number)) / block_sizes::small[size_class];
    Granule &divided = granule(number);
    std::uint64_t &word = block_map(number)[index / word_bits], bit = std::uint64_t{1} << index % word_bits;
    assert(divided.use == Use::divided && divided.size_class == size_class && (word & bit) == 0);
    word |= bit;
    count(used_, -std::uint64_t{block_sizes::small[size_class]});
    if (divided.count++ == 0) push(divided_[size_class], number);
    if (divided.count != blocks_of(size_class)) return;
    remove(divided_[size_class], number);
    mark(number, 1, true);
    return_run(number, 1);
}

// --- What must be true.

struct Allocator::Census {
    std::uint64_t taken = 0, used = 0, kept = 0;
    std::array<std::uint64_t, 32> runs{};
    std::array<std::uint64_t, block_sizes::small.size()> divided{}; ///< that have free blocks
};

bool Allocator::is_valid() {
    std::scoped_lock hold(lock_);
    Census census;
    return take_census(census) && lists_agree(census) && census.taken == taken_.load(relaxed) &&
           census.used == used_.load(relaxed) && census.kept == kept_.load(relaxed) &&
           used_.load(relaxed) <= highest_.load(relaxed);
}

/// From run to run: each begins where the one before ends.
bool Allocator::take_census(Census &census) const {
    std::uint64_t number = 0;
    while (number < granules_) {
        const Granule &first = granule(number);
        std::uint64_t length = 1;
        switch (first.use) {
        case Use::free:
            if (!examine_free(number)) return false;
            length = std::uint64_t{1} << first.count;
            census.runs[first.count]++;
            census.kept += soiled(number, length) * block_sizes::granule;
            break;
        case Use::given:
            length = first.count;
            census.used += length * block_sizes::granule;
            census.taken += length * block_sizes::granule;
            break;
        case Use::divided:
            if (!examine_divided(number, census)) return false;
            census.taken += block_sizes::granule;
            break;
        case Use::inside:
            return false;
        }
        number += length;
    }
    return number == granules_;
}

bool Allocator::examine_free(std::uint64_t number) const {
    std::uint32_t order = granule(number).count;
    if (order >= runs_.size()) return false;
    std::uint64_t length = std::uint64_t{1} << order, other = number ^ length;
    if (number % length != 0 || number + length > granules_) return false;
    return other + length > granules_ || granule(other).use != Use::free || granule(other).count != order;
}

bool Allocator::examine_divided(std::uint64_t number, Census &census) const {
    const Granule &divided = granule(number);
    if (divided.size_class >= divided_.size()) return false;
    std::uint64_t blocks = blocks_of(divided.size_class), free = 0;
    const BlockMap &map = block_map(number);
    for (std::uint64_t word = 0; word < map_words && word * word_bits < blocks; word++) {
        if ((map[word] & ~bits_in_word(0, blocks - word * word_bits)) != 0) return false;
        free += static_cast<std::uint64_t>(std::popcount(map[word]));
    }
    census.used += (blocks - free) * block_sizes::small[divided.size_class];
    if (free > 0) census.divided[divided.size_class]++;
    return free == divided.count && free < blocks;
}

/// Lists hold as many as there are, all of their kind.
bool Allocator::lists_agree(const Census &census) const {
    auto agrees = [&](const List &list, std::uint64_t members, auto &&belongs) {
        Link before = 0;
        for (Link link = list.first; link != 0; before = link, link = granule(link - 1).next)
            if (members-- == 0 || granule(link - 1).previous != before || !belongs(granule(link - 1))) return false;
        return members == 0;
    };
    for (std::uint32_t order = 0; order < runs_.size(); order++) {
        auto belongs = [&](const Granule &first) { return first.use == Use::free && first.count == order; };
        if (!agrees(runs_[order], census.runs[order], belongs)) return false;
        if ((orders_ >> order & 1) != (runs_[order].first != 0)) return false;
    }
    for (std::size_t size_class = 0; size_class < divided_.size(); size_class++) {
        auto belongs = [&](const Granule &one) { return one.use == Use::divided && one.size_class == size_class; };
        if (!agrees(divided_[size_class], census.divided[size_class], belongs)) return false;
    }
    return true;
}

} // namespace volley
