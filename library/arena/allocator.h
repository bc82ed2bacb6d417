// SPDX-License-Identifier: BSD-3-Clause
/// The allocator of the memory that ranks share.
///
/// A region is divided into *granules* of 64 KiB. The buddy system manages runs of granules: free runs are powers of
/// two, aligned to their length, in one list per length. A larger run is split if need be, and two free halves are
/// joined at once. What a run has too much at its end goes back, so a block takes as many granules as it needs and no
/// more. Blocks up to half a granule come out of granules that are *divided* into blocks of one size; a bit map says
/// which are free. A granule all of whose blocks are free becomes a free run again.
///
/// Everything about the granules lies in tables at the beginning of the region, not in the blocks. So free memory needs
/// no pages, and a program that writes beyond its buffers does not corrupt the allocator's lists. The tables' pages
/// exist once used; they take 0.2 percent of what is in use.
///
/// A rank that frees a large block gives its pages back to the system, unless few free granules have pages: the next
/// blocks then get pages without a page fault. A bit per granule tells whether the granule may hold something: new
/// memory is zero, so only memory that may not be has to be zeroed.
///
/// Any rank may release any block. One lock guards everything. It is held for 50 to 500 ns (some microseconds for
/// blocks of GiB), and no system call is made under it. Each rank has a BlockCache in front, so that most blocks need
/// no lock. The region contains no addresses, only offsets, so it may lie at a different address in every process.
///
/// Limits: 2^31 granules, 128 TiB. A run is no longer than the largest power of two that fits (of 64 GiB: 32). Runs do
/// not move, so small blocks that stay all over the region keep large ones from being allocated.
#pragma once

#include "arena/shared_lock.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace volley {

/// Sizes of blocks. They are aligned to cache lines, and from a page on to pages.
namespace block_sizes {
inline constexpr std::size_t granule = 65536;
inline constexpr std::array<std::uint32_t, 15> small = {64,   128,  192,  256,  384,  512,   768,  1024,
                                                        1536, 2048, 3072, 4096, 8192, 16384, 32768};
/// Indexed by a number of 64-byte units, up to a page: the smallest class that holds so many.
inline constexpr auto classes_in_page = [] {
    std::array<std::uint8_t, 65> classes{};
    for (std::size_t lines = 1; lines < classes.size(); lines++)
        classes[lines] = static_cast<std::uint8_t>(classes[lines - 1] + (small[classes[lines - 1]] < lines * 64));
    return classes;
}();
inline constexpr std::size_t class_of_page = 11;
static_assert(small[class_of_page] == 4096);
/// The index of the smallest class that holds so many bytes; small.size() if none does.
constexpr std::size_t class_of(std::size_t bytes) {
    if (bytes <= small[class_of_page]) return classes_in_page[(bytes + 63) / 64];
    // From there on powers of two.
    return std::min<std::size_t>(class_of_page + 1 + static_cast<std::size_t>(std::bit_width((bytes - 1) >> 13)),
                                 small.size());
}
/// The number of granules that hold so many bytes.
constexpr std::uint64_t granules(std::size_t bytes) {
    return bytes / granule + (bytes % granule != 0);
}
/// The size of the block that so many bytes take.
constexpr std::size_t whole(std::size_t bytes) {
    std::size_t found = class_of(bytes);
    return found < small.size() ? small[found] : granules(bytes) * granule;
}
} // namespace block_sizes

/// An allocator lies at the beginning of the region it hands out. The region begins at a page and is zero at first, and
/// all who use it share it.
class Allocator {
  public:
    /// Makes an allocator in that memory, once; later callers, in any process, find it made. `bytes` must be the same
    /// for all. `most_kept` bytes of free memory keep their pages.
    static Allocator &open(void *memory, std::uint64_t bytes, std::uint64_t most_kept);
    /// Enough for an allocator and some blocks.
    static constexpr std::uint64_t least_bytes = 8 * block_sizes::granule;

    /// At least `bytes`, whose contents are undefined; nullptr, and nothing has changed, if there is no such run.
    void *allocate(std::size_t bytes);
    /// The same, zeroed.
    void *allocate_zeroed(std::size_t bytes);
    /// Takes back what anybody's allocation of so many bytes returned. Nobody has written beyond the first `touched`
    /// bytes, so the rest is as it was when it was handed out.
    void release(void *block, std::size_t bytes, std::size_t touched);
    void release(void *block, std::size_t bytes) {
        release(block, bytes, bytes);
    }

    /// May be read from outside, at any time. In bytes.
    struct Statistics {
        std::uint64_t whole;   ///< that can be handed out
        std::uint64_t used;    ///< in blocks
        std::uint64_t highest; ///< that `used` has ever been
        std::uint64_t taken;   ///< in granules that are not free
        std::uint64_t kept;    ///< in free granules that may have pages
    };
    Statistics statistics() const;

    /// Every granule belongs to one block or free run; lists, maps and counts agree; no two free halves are apart.
    /// Takes time in proportion to the number of blocks, under the lock.
    bool is_valid();

  private:
    /// What the first granule of a run says about the run. The others say nothing reliable, except that they are not
    /// `free`.
    enum class Use : std::uint8_t {
        inside, ///< of a run that begins before it
        free,
        given,
        divided, ///< into blocks: one granule
    };
    using Link = std::uint32_t; ///< 0, or 1 + a granule's number
    struct Granule {
        Link next, previous; ///< of free runs of one length, or of divided granules of one class that have free blocks
        std::uint32_t count; ///< free: its length is 2 to the power of this; given: its length; divided: free blocks
        Use use;
        std::uint8_t size_class; ///< divided
        std::uint16_t reserved;
    };
    struct List {
        Link first;
    };
    static constexpr std::size_t map_words = block_sizes::granule / block_sizes::small[0] / 64;
    /// A set bit is a free block.
    using BlockMap = std::array<std::uint64_t, map_words>;

    Allocator() = delete;
    void make(std::uint64_t bytes, std::uint64_t most_kept);

    Granule &granule(std::uint64_t number) const;
    BlockMap &block_map(std::uint64_t number) const;
    std::atomic<std::uint64_t> &soiled_word(std::uint64_t number) const;
    char *address(std::uint64_t number) const;
    std::uint64_t number_of(const void *block) const;

    void push(List &list, std::uint64_t number);
    void remove(List &list, std::uint64_t number);

    // Runs.
    bool take_run(std::uint64_t length, std::uint64_t &number);
    void split(std::uint64_t number, std::uint32_t order, std::uint64_t length);
    void return_run(std::uint64_t number, std::uint64_t length);
    void insert_run(std::uint64_t number, std::uint32_t order);
    void remove_run(std::uint64_t number);
    std::uint64_t soiled(std::uint64_t number, std::uint64_t length) const;
    void mark(std::uint64_t number, std::uint64_t length, bool soiled);
    void *allocate_run(std::uint64_t length);
    void release_run(void *block, std::uint64_t length, std::uint64_t touched);
    void clean(void *block, std::uint64_t length);

    // Small blocks.
    void *allocate_small(std::size_t size_class);
    void release_small(void *block, std::size_t size_class);
    bool divide(std::size_t size_class);

    void count(std::atomic<std::uint64_t> &counter, std::uint64_t change);
    void count_used(std::size_t bytes);

    // For is_valid(), under the lock.
    struct Census;
    bool take_census(Census &census) const;
    bool examine_divided(std::uint64_t number, Census &census) const;
    bool examine_free(std::uint64_t number) const;
    bool lists_agree(const Census &census) const;

    SharedLock lock_;
    std::uint32_t made_;
    std::uint64_t granules_;
    std::uint64_t tables_; ///< offset of Granule[granules_]
    std::uint64_t maps_;   ///< offset of BlockMap[granules_]
    std::uint64_t soil_;   ///< offset of bits: that free granule may hold something
    std::uint64_t memory_; ///< offset of the first granule
    std::uint64_t most_kept_;
    std::uint64_t orders_; ///< bits: there are free runs of that length
    std::array<List, 32> runs_;
    std::array<List, block_sizes::small.size()> divided_;
    // Written under the lock, read by anyone.
    std::atomic<std::uint64_t> used_, highest_, taken_, kept_;
};

} // namespace volley
