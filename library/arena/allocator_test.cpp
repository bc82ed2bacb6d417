// SPDX-License-Identifier: BSD-3-Clause
#include "arena/allocator.h"

#include "arena/block_cache.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace volley {
namespace {

constexpr std::size_t mebi = 1 << 20;
constexpr std::size_t granule = block_sizes::granule;

/// A region, shared with processes that are forked.
class Region {
  public:
    explicit Region(std::size_t bytes, std::size_t most_kept = 2 * mebi)
        : bytes_(bytes),
          memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
          allocator_(Allocator::open(memory_, bytes, most_kept)) {}
    ~Region() {
        munmap(memory_, bytes_);
    }
    Region(const Region &) = delete;
    Region &operator=(const Region &) = delete;
    Allocator *operator->() {
        return &allocator_;
    }
    Allocator &operator*() {
        return allocator_;
    }
    void *memory() const {
        return memory_;
    }
    std::size_t bytes() const {
        return bytes_;
    }

  private:
    std::size_t bytes_;
    void *memory_;
    Allocator &allocator_;
};

/// Nothing is handed out, and all is one again: the largest run can be had.
void expect_empty(Allocator &allocator) {
    EXPECT_TRUE(allocator.is_valid());
    EXPECT_EQ(allocator.statistics().used, 0u);
    EXPECT_EQ(allocator.statistics().taken, 0u);
    std::size_t largest = std::bit_floor(allocator.statistics().whole / granule) * granule;
    void *all = allocator.allocate(largest);
    EXPECT_NE(all, nullptr);
    if (all) allocator.release(all, largest);
}

bool is_zero(const void *block, std::size_t bytes) {
    const auto *begin = static_cast<const unsigned char *>(block);
    return std::all_of(begin, begin + bytes, [](unsigned char byte) { return byte == 0; });
}

/// Small ones often, large ones seldom.
std::size_t random_size(std::mt19937_64 &random, int largest_bits) {
    auto bits = std::uniform_int_distribution<int>(0, largest_bits)(random);
    return 1 + random() % (std::size_t{1} << bits);
}

/// What a test has been given, filled with a byte of its own.
struct Held {
    unsigned char *block;
    std::size_t bytes;
    unsigned char filling;

    void fill() const {
        std::memset(block, filling, bytes);
    }
    bool is_whole() const {
        return std::all_of(block, block + bytes, [this](unsigned char byte) { return byte == filling; });
    }
};

/// Takes and gives back at random; false if what was written into a block has changed.
template <class Source> bool exercise(Source &source, std::uint64_t seed, int steps, int largest_bits) {
    std::mt19937_64 random(seed);
    std::vector<Held> held;
    bool good = true;
    for (int step = 0; step < steps; step++) {
        if (held.size() < 200 && random() % 2 == 0) {
            std::size_t bytes = random_size(random, largest_bits);
            bool zeroed = random() % 2 == 0;
            void *block = zeroed ? source.allocate_zeroed(bytes) : source.allocate(bytes);
            if (!block) continue;
            if (zeroed) good = good && is_zero(block, bytes);
            held.push_back({static_cast<unsigned char *>(block), bytes, static_cast<unsigned char>(random())});
            held.back().fill();
        } else if (!held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            good = good && held.back().is_whole();
            source.release(held.back().block, held.back().bytes);
            held.pop_back();
        }
    }
    for (const Held &each : held) {
        good = good && each.is_whole();
        source.release(each.block, each.bytes);
    }
    return good;
}

TEST(Allocator, SizesOfBlocks) {
    for (std::size_t bytes = 1; bytes <= granule; bytes++) {
        std::size_t found = block_sizes::class_of(bytes);
        ASSERT_TRUE(found == block_sizes::small.size() || block_sizes::small[found] >= bytes) << bytes;
        ASSERT_TRUE(found == 0 || block_sizes::small[found - 1] < bytes) << bytes;
    }
    EXPECT_EQ(block_sizes::whole(1), 64u);
    EXPECT_EQ(block_sizes::whole(65), 128u);
    EXPECT_EQ(block_sizes::whole(3073), 4096u);
    EXPECT_EQ(block_sizes::whole(32769), granule);
    EXPECT_EQ(block_sizes::whole(granule), granule);
    EXPECT_EQ(block_sizes::whole(granule + 1), 2 * granule);
    EXPECT_EQ(block_sizes::whole(5 * granule), 5 * granule);
}

TEST(Allocator, IsMadeOnce) {
    Region region(16 * mebi);
    void *block = region->allocate(100);
    EXPECT_EQ(&Allocator::open(region.memory(), region.bytes(), mebi), &*region);
    EXPECT_EQ(region->statistics().used, 128u);
    region->release(block, 100);
    expect_empty(*region);
}

TEST(Allocator, TheLeastRegionWorks) {
    Region region(Allocator::least_bytes);
    void *block = region->allocate(4 * granule);
    EXPECT_NE(block, nullptr);
    region->release(block, 4 * granule);
    expect_empty(*region);
}

/// Against a map of what is handed out: blocks are aligned, inside, and apart.
TEST(Allocator, AgreesWithAModel) {
    std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Region region(40 * mebi + 12345 * 4096 % mebi, mebi);
    std::map<std::uintptr_t, std::size_t> model;
    std::uint64_t used = 0;
    for (int step = 0; step < 20000; step++) {
        if (random() % 100 < (step / 2000 % 2 == 0 ? 60 : 40)) {
            std::size_t bytes = random_size(random, 22);
            auto block = reinterpret_cast<std::uintptr_t>(region->allocate(bytes));
            if (block == 0) continue;
            ASSERT_EQ(block % (block_sizes::whole(bytes) >= 4096 ? 4096 : 64), 0u);
            auto after = model.lower_bound(block);
            if (after != model.end()) {
                ASSERT_LE(block + bytes, after->first);
            }
            if (after != model.begin()) {
                ASSERT_LE(std::prev(after)->first + std::prev(after)->second, block);
            }
            model[block] = bytes;
            used += block_sizes::whole(bytes);
        } else if (!model.empty()) {
            auto chosen =
                model.lower_bound(reinterpret_cast<std::uintptr_t>(region.memory()) + random() % region.bytes());
            if (chosen == model.end()) chosen = model.begin();
            region->release(reinterpret_cast<void *>(chosen->first), chosen->second);
            used -= block_sizes::whole(chosen->second);
            model.erase(chosen);
        }
        ASSERT_EQ(region->statistics().used, used);
        if (step % 100 == 0) {
            ASSERT_TRUE(region->is_valid()) << "step " << step;
        }
    }
    for (auto [block, bytes] : model) region->release(reinterpret_cast<void *>(block), bytes);
    expect_empty(*region);
}

TEST(Allocator, ContentsStayWhole) {
    std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Region region(24 * mebi);
    EXPECT_TRUE(exercise(*region, seed, 4000, 20));
    expect_empty(*region);
}

TEST(Allocator, ARefusalChangesNothing) {
    Region region(16 * mebi);
    EXPECT_EQ(region->allocate(~std::size_t{0}), nullptr);
    EXPECT_EQ(region->allocate(17 * mebi), nullptr);
    std::vector<void *> blocks;
    while (void *block = region->allocate(granule)) blocks.push_back(block);
    EXPECT_EQ(region->statistics().used, region->statistics().whole);
    EXPECT_EQ(region->allocate(1), nullptr);
    EXPECT_EQ(region->allocate_zeroed(mebi), nullptr);
    EXPECT_TRUE(region->is_valid());
    region->release(blocks.back(), granule);
    blocks.pop_back();
    void *small = region->allocate(1);
    EXPECT_NE(small, nullptr);
    EXPECT_EQ(region->allocate(2 * granule), nullptr);
    region->release(small, 1);
    for (void *block : blocks) region->release(block, granule);
    expect_empty(*region);
}

TEST(Allocator, LargeBlocksGiveTheirPagesBack) {
    Region region(64 * mebi, 4 * mebi);
    auto *block = static_cast<char *>(region->allocate(16 * mebi));
    std::memset(block, 1, 16 * mebi);
    region->release(block, 16 * mebi);
    EXPECT_EQ(region->statistics().kept, 0u);
    unsigned char present = 1;
    ASSERT_EQ(mincore(block, 4096, &present), 0);
    EXPECT_EQ(present & 1, 0);
    block = static_cast<char *>(region->allocate(2 * mebi));
    std::memset(block, 1, 2 * mebi);
    region->release(block, 2 * mebi);
    EXPECT_EQ(region->statistics().kept, 2 * mebi);
    EXPECT_TRUE(region->is_valid());
    block = static_cast<char *>(region->allocate_zeroed(8 * mebi));
    EXPECT_TRUE(is_zero(block, 8 * mebi));
    region->release(block, 8 * mebi);
    expect_empty(*region);
}

/// What was not touched is not taken for pages, nor for zero if it has been written before.
TEST(Allocator, WhatWasNotTouchedIsAsItWas) {
    Region region(64 * mebi, 4 * mebi);
    auto *block = static_cast<char *>(region->allocate(16 * mebi));
    std::memset(block, 1, 100);
    region->release(block, 16 * mebi, 100);
    EXPECT_EQ(region->statistics().kept, granule);
    block = static_cast<char *>(region->allocate(2 * mebi));
    std::memset(block, 1, 2 * mebi);
    region->release(block, 2 * mebi);
    std::uint64_t kept = region->statistics().kept;
    EXPECT_GE(kept, 2 * mebi);
    block = static_cast<char *>(region->allocate(2 * mebi));
    region->release(block, 2 * mebi, 0);
    EXPECT_EQ(region->statistics().kept, kept);
    block = static_cast<char *>(region->allocate_zeroed(4 * mebi));
    EXPECT_TRUE(is_zero(block, 4 * mebi));
    region->release(block, 4 * mebi);
    expect_empty(*region);
}

TEST(Allocator, ThreadsShareIt) {
    std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Region region(64 * mebi);
    std::array<bool, 4> good{};
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < good.size(); i++)
            threads.emplace_back([&, i] { good[i] = exercise(*region, seed + i, 3000, 18); });
    }
    for (bool each : good) EXPECT_TRUE(each);
    expect_empty(*region);
}

TEST(Allocator, ProcessesShareIt) {
    std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Region region(64 * mebi);
    std::vector<pid_t> children;
    for (unsigned i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) _exit(exercise(*region, seed + i, 3000, 18) ? 0 : 1);
        children.push_back(child);
    }
    for (pid_t child : children) {
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    expect_empty(*region);
}

/// What one gave out, another takes back, also through its cache.
TEST(Allocator, AnotherThreadReleases) {
    Region region(64 * mebi);
    std::array<std::atomic<void *>, 64> passed{};
    auto size = [](std::size_t i) { return 50 + i * i * 40; };
    constexpr std::size_t rounds = 20000;
    {
        std::jthread giver([&] {
            BlockCache cache;
            cache.attach(*region, mebi);
            for (std::size_t i = 0; i < rounds; i++) {
                std::atomic<void *> &place = passed[i % passed.size()];
                while (place.load(std::memory_order_acquire)) sched_yield();
                place.store(cache.allocate(size(i % passed.size())), std::memory_order_release);
            }
            cache.flush();
        });
        std::jthread taker([&] {
            BlockCache cache;
            cache.attach(*region, mebi);
            for (std::size_t i = 0; i < rounds; i++) {
                std::atomic<void *> &place = passed[i % passed.size()];
                void *block;
                while (!(block = place.load(std::memory_order_acquire))) sched_yield();
                std::memset(block, 1, size(i % passed.size()));
                place.store(nullptr, std::memory_order_release);
                cache.release(block, size(i % passed.size()));
            }
            cache.flush();
        });
    }
    expect_empty(*region);
}

TEST(BlockCache, KeepsContentsAndGivesAllBack) {
    std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Region region(32 * mebi);
    BlockCache cache;
    cache.attach(*region, 2 * mebi);
    EXPECT_TRUE(exercise(cache, seed, 4000, 21));
    EXPECT_LE(region->statistics().used, 2 * mebi);
    cache.flush();
    expect_empty(*region);
}

TEST(BlockCache, HandsOutTheLastFirst) {
    Region region(32 * mebi);
    BlockCache cache;
    cache.attach(*region, 8 * mebi);
    std::vector<void *> blocks;
    for (int i = 0; i < 100; i++) blocks.push_back(cache.allocate(100000));
    for (void *block : blocks) cache.release(block, 100000);
    EXPECT_EQ(cache.allocate(131072), blocks[99]);
    EXPECT_EQ(cache.allocate(70000), blocks[98]);
    cache.release(blocks[98], 70000);
    cache.release(blocks[99], 131072);
    cache.flush();
    expect_empty(*region);
}

/// What lies in a cache is not missing elsewhere in the same rank.
TEST(BlockCache, IsEmptiedBeforeItRefuses) {
    Region region(16 * mebi);
    BlockCache cache;
    cache.attach(*region, 16 * mebi);
    std::vector<void *> blocks;
    while (void *block = cache.allocate(mebi)) blocks.push_back(block);
    for (void *block : blocks) cache.release(block, mebi);
    void *large = cache.allocate(8 * mebi);
    EXPECT_NE(large, nullptr);
    cache.release(large, 8 * mebi);
    cache.flush();
    expect_empty(*region);
}

} // namespace
} // namespace volley
