// SPDX-License-Identifier: BSD-3-Clause
#include "layout/copy.h"

#include "layout/kernels.h"
#include "layout/walk.h"

#include <cstdlib>
#include <sys/uio.h>

namespace volley {
namespace {

using kernels::pointer;

std::uintptr_t address_of(const TypedBuffer &buffer) {
    return reinterpret_cast<std::uintptr_t>(buffer.address);
}

/// A short list that is repeated many times is best copied some repetitions at a time, entry by entry: each entry
/// then is a loop with a known length, and what is touched stays in the first-level cache. Calls
/// `copy(first repetition, repetitions, entry, bytes of the entry)`. Refuses (false) where that would not pay, or
/// where repetitions reach into each other's memory, so that their order matters to who writes.
template <class Copy>
bool for_each_tile(Count count, const ListEntry *entries, Count repeats, Count stride, const Copy &copy) {
    constexpr Count tile = 32;
    if (count > tile || repeats < 4) return false;
    Count low = 0, high = 0;
    for (Count i = 0; i < count; ++i) {
        low = std::min(low, entries[i].displacement);
        high = std::max(high, entries[i].displacement + entries[i + 1].begin - entries[i].begin);
    }
    if (high - low > std::min<Count>(std::abs(stride), 16 * tile)) return false;
    for (Count first = 0; first < repeats; first += tile)
        for (Count i = 0; i < count; ++i)
            copy(first, std::min(tile, repeats - first), entries[i], entries[i + 1].begin - entries[i].begin);
    return true;
}

enum class Direction { pack, unpack };

/// Copies between the places of one type and a packed buffer that is used from its beginning to its end.
template <Direction direction> class PackedSink {
  public:
    explicit PackedSink(char *packed) : packed_(packed) {}

    bool block(std::uintptr_t address, Count bytes) {
        move<0>(packed_, address, bytes);
        packed_ += bytes;
        return true;
    }

    bool vector(std::uintptr_t address, Count block, Count count, Count stride) {
        char *packed = packed_;
        packed_ += block * count;
        kernels::with_length(block, [&](auto length) __attribute__((always_inline)) {
            Count i = 0;
            if constexpr (direction == Direction::pack) {
                i = kernels::gather<length()>(packed, address, count, stride);
                packed += i * block;
                address = displaced(address, i * stride);
            }
            for (; i < count; ++i) {
                move<length()>(packed, address, block);
                packed += block;
                address = displaced(address, stride);
            }
        });
        return true;
    }

    bool index(std::uintptr_t address, Count block, Count count, const Count *displacements) {
        char *packed = packed_;
        packed_ += block * count;
        kernels::with_length(block, [&](auto length) __attribute__((always_inline)) {
            Count i = 0;
            if constexpr (direction == Direction::unpack)
                for (; i < count - kernels::prefetch_blocks; ++i) {
                    __builtin_prefetch(pointer(displaced(address, displacements[i + kernels::prefetch_blocks])), 1);
                    move<length()>(packed, displaced(address, displacements[i]), block);
                    packed += block;
                }
            for (; i < count; ++i) {
                move<length()>(packed, displaced(address, displacements[i]), block);
                packed += block;
            }
        });
        return true;
    }

    bool list(std::uintptr_t address, Count count, const ListEntry *entries) {
        char *packed = packed_;
        for (Count i = 0; i < count; ++i) {
            Count bytes = entries[i + 1].begin - entries[i].begin;
            move<0>(packed, displaced(address, entries[i].displacement), bytes);
            packed += bytes;
        }
        packed_ = packed;
        return true;
    }

    bool lists(std::uintptr_t address, Count count, const ListEntry *entries, Count repeats, Count stride) {
        Count size = entries[count].begin - entries[0].begin;
        bool tiled = for_each_tile(
            count, entries, repeats, stride, [&](Count first, Count tile, const ListEntry &entry, Count block) {
                std::uintptr_t place = displaced(address, first * stride + entry.displacement);
                auto packed = reinterpret_cast<std::uintptr_t>(packed_ + first * size + entry.begin - entries[0].begin);
                if constexpr (direction == Direction::pack)
                    kernels::copy_strided(packed, size, place, stride, block, tile);
                else
                    kernels::copy_strided(place, stride, packed, size, block, tile);
            });
        if (tiled)
            packed_ += repeats * size;
        else
            for (Count i = 0; i < repeats; ++i) list(displaced(address, i * stride), count, entries);
        return true;
    }

  private:
    template <std::size_t fixed>
    [[gnu::always_inline]] static void move(char *packed, std::uintptr_t address, Count bytes) {
        if constexpr (direction == Direction::pack)
            kernels::copy<fixed>(packed, pointer(address), static_cast<std::size_t>(bytes));
        else
            kernels::copy<fixed>(pointer(address), packed, static_cast<std::size_t>(bytes));
    }

    char *packed_;
};

/// Copies from each place to the one at the same distance: both sides have the same layout.
class ShiftedSink {
  public:
    explicit ShiftedSink(std::uintptr_t distance) : distance_(distance) {}

    bool block(std::uintptr_t address, Count bytes) {
        move<0>(address, bytes);
        return true;
    }

    bool vector(std::uintptr_t address, Count block, Count count, Count stride) {
        kernels::copy_strided(address + distance_, stride, address, stride, block, count);
        return true;
    }

    bool index(std::uintptr_t address, Count block, Count count, const Count *displacements) {
        kernels::with_length(block, [&](auto length) __attribute__((always_inline)) {
            for (Count i = 0; i < count; ++i) move<length()>(displaced(address, displacements[i]), block);
        });
        return true;
    }

    bool list(std::uintptr_t address, Count count, const ListEntry *entries) {
        for (Count i = 0; i < count; ++i)
            move<0>(displaced(address, entries[i].displacement), entries[i + 1].begin - entries[i].begin);
        return true;
    }

    bool lists(std::uintptr_t address, Count count, const ListEntry *entries, Count repeats, Count stride) {
        bool tiled = for_each_tile(
            count, entries, repeats, stride, [&](Count first, Count tile, const ListEntry &entry, Count block) {
                vector(displaced(address, first * stride + entry.displacement), block, tile, stride);
            });
        for (Count i = 0; i < repeats && !tiled; ++i) list(displaced(address, i * stride), count, entries);
        return true;
    }

  private:
    template <std::size_t fixed> [[gnu::always_inline]] void move(std::uintptr_t address, Count bytes) {
        kernels::copy<fixed>(pointer(address + distance_), pointer(address), static_cast<std::size_t>(bytes));
    }

    std::uintptr_t distance_;
};

/// Some blocks at regular distances.
struct Run {
    std::uintptr_t address;
    Count block;
    Count count;
    Count stride;
};

/// Collects runs until it is full.
class RunSink {
  public:
    bool block(std::uintptr_t address, Count bytes) {
        return vector(address, bytes, 1, 0);
    }

    bool vector(std::uintptr_t address, Count block, Count count, Count stride) {
        if (count_ == capacity) return false;
        runs_[count_++] = {address, block, count, stride};
        bytes_ += block * count;
        return true;
    }

    bool index(std::uintptr_t address, Count block, Count count, const Count *displacements) {
        for (Count i = 0; i < count; ++i)
            if (!vector(displaced(address, displacements[i]), block, 1, 0)) return false;
        return true;
    }

    bool list(std::uintptr_t address, Count count, const ListEntry *entries) {
        for (Count i = 0; i < count; ++i)
            if (!vector(displaced(address, entries[i].displacement), entries[i + 1].begin - entries[i].begin, 1, 0))
                return false;
        return true;
    }

    bool lists(std::uintptr_t address, Count count, const ListEntry *entries, Count repeats, Count stride) {
        for (Count i = 0; i < repeats; ++i)
            if (!list(displaced(address, i * stride), count, entries)) return false;
        return true;
    }

    void clear() {
        count_ = 0;
        bytes_ = 0;
    }

    const Run *begin() const {
        return runs_;
    }

    const Run *end() const {
        return runs_ + count_;
    }

    Count bytes() const {
        return bytes_;
    }

  private:
    /// Enough that finding the place again after each batch costs little, and no more than fits in a page.
    static constexpr int capacity = 64;

    Run runs_[capacity];
    int count_ = 0;
    Count bytes_ = 0;
};

/// Yields the runs of a range one after another, and parts of them.
class Reader {
  public:
    Reader(const TypedBuffer &buffer, Count from, Count to) : buffer_(buffer), position_(from), to_(to) {}

    /// Makes `run()` not empty; false at the range's end.
    bool fill() {
        if (run_.count != 0) return true;
        if (next_ == sink_.end()) {
            position_ += sink_.bytes();
            sink_.clear();
            Walk(*buffer_.plan, sink_).elements(address_of(buffer_), buffer_.count, position_, to_);
            next_ = sink_.begin();
            if (next_ == sink_.end()) return false;
        }
        run_ = *next_++;
        return true;
    }

    const Run &run() const {
        return run_;
    }

    /// Bytes left in the run's first block.
    Count left_in_block() const {
        return run_.block - used_;
    }

    bool at_block() const {
        return used_ == 0;
    }

    std::uintptr_t address() const {
        return displaced(run_.address, used_);
    }

    void skip_blocks(Count blocks) {
        run_.count -= blocks;
        run_.address = displaced(run_.address, blocks * run_.stride);
    }

    /// At most what is left in the block.
    void skip_bytes(Count bytes) {
        used_ += bytes;
        if (used_ == run_.block) {
            used_ = 0;
            skip_blocks(1);
        }
    }

  private:
    const TypedBuffer &buffer_;
    Count position_;
    Count to_;
    RunSink sink_;
    const Run *next_ = sink_.begin();
    Run run_{0, 0, 0, 0};
    Count used_ = 0; ///< bytes of the run's first block
};

/// Merges adjacent pieces before they reach the visitor.
class SegmentSink {
  public:
    explicit SegmentSink(const SegmentVisitor &visit) : visit_(visit) {}

    bool block(std::uintptr_t address, Count bytes) {
        if (displaced(address_, bytes_) == address) {
            bytes_ += bytes;
            return true;
        }
        if (!flush()) return false;
        address_ = address;
        bytes_ = bytes;
        return true;
    }

    bool vector(std::uintptr_t address, Count bytes, Count count, Count stride) {
        for (Count i = 0; i < count; ++i)
            if (!block(displaced(address, i * stride), bytes)) return false;
        return true;
    }

    bool index(std::uintptr_t address, Count bytes, Count count, const Count *displacements) {
        for (Count i = 0; i < count; ++i)
            if (!block(displaced(address, displacements[i]), bytes)) return false;
        return true;
    }

    bool list(std::uintptr_t address, Count count, const ListEntry *entries) {
        for (Count i = 0; i < count; ++i)
            if (!block(displaced(address, entries[i].displacement), entries[i + 1].begin - entries[i].begin))
                return false;
        return true;
    }

    bool lists(std::uintptr_t address, Count count, const ListEntry *entries, Count repeats, Count stride) {
        for (Count i = 0; i < repeats; ++i)
            if (!list(displaced(address, i * stride), count, entries)) return false;
        return true;
    }

    bool flush() {
        return bytes_ == 0 || visit_(pointer(address_), bytes_);
    }

  private:
    const SegmentVisitor &visit_;
    std::uintptr_t address_ = 0;
    Count bytes_ = 0;
};

/// Where byte `from` lies if the whole message is one block; nullptr otherwise.
char *single_block(const TypedBuffer &buffer, Count from) {
    const DatatypePlan &plan = *buffer.plan;
    bool single = plan.node(plan.root).kind == NodeKind::block && (buffer.count == 1 || plan.size == plan.extent);
    return single ? pointer(displaced(address_of(buffer), plan.displacement + from)) : nullptr;
}

bool same_layout(const TypedBuffer &a, const TypedBuffer &b) {
    const DatatypePlan &p = *a.plan, &q = *b.plan;
    if (a.count != b.count) return false;
    return &p == &q || (p.fingerprint != 0 && p.fingerprint == q.fingerprint && p.bytes == q.bytes &&
                        p.size == q.size && p.extent == q.extent && p.blocks == q.blocks);
}

/// Merging the runs of both sides takes some ten nanoseconds for each pair, whatever its length. It pays where
/// blocks are long, or where vectors of equal blocks meet; else a detour through the first-level cache is faster.
bool worth_merging(const TypedBuffer &source, const TypedBuffer &destination) {
    constexpr Count long_block = 512;
    constexpr Count long_run = 1024;
    auto block_at_least = [](const DatatypePlan &plan, Count bytes) { return plan.size / bytes >= plan.blocks; };
    auto run_at_least = [](const TypedBuffer &buffer, Count bytes) {
        const DatatypePlan &plan = *buffer.plan;
        return plan.runs == 1 || plan.size / bytes >= plan.runs;
    };
    if (block_at_least(*source.plan, long_block) && block_at_least(*destination.plan, long_block)) return true;
    return source.plan->uniform_block != 0 && source.plan->uniform_block == destination.plan->uniform_block &&
           run_at_least(source, long_run) && run_at_least(destination, long_run);
}

void copy_merging(const TypedBuffer &source, const TypedBuffer &destination, Count from, Count to) {
    Reader reader(source, from, to);
    Reader writer(destination, from, to);
    while (reader.fill() && writer.fill()) {
        const Run &in = reader.run();
        const Run &out = writer.run();
        if (reader.at_block() && writer.at_block() && in.block == out.block) {
            Count blocks = std::min(in.count, out.count);
            kernels::copy_strided(out.address, out.stride, in.address, in.stride, in.block, blocks);
            reader.skip_blocks(blocks);
            writer.skip_blocks(blocks);
        } else if (reader.at_block() && in.count > 1 && in.block < writer.left_in_block()) {
            Count blocks = std::min(in.count, writer.left_in_block() / in.block);
            kernels::copy_strided(writer.address(), in.block, in.address, in.stride, in.block, blocks);
            writer.skip_bytes(blocks * in.block);
            reader.skip_blocks(blocks);
        } else if (writer.at_block() && out.count > 1 && out.block < reader.left_in_block()) {
            Count blocks = std::min(out.count, reader.left_in_block() / out.block);
            kernels::copy_strided(out.address, out.stride, reader.address(), out.block, out.block, blocks);
            reader.skip_bytes(blocks * out.block);
            writer.skip_blocks(blocks);
        } else {
            Count bytes = std::min(reader.left_in_block(), writer.left_in_block());
            kernels::copy_block(pointer(writer.address()), pointer(reader.address()), static_cast<std::size_t>(bytes));
            reader.skip_bytes(bytes);
            writer.skip_bytes(bytes);
        }
    }
}

/// Small enough to stay in the first-level cache beside the data.
constexpr Count detour_bytes = 8192;

void copy_with_detour(const TypedBuffer &source, const TypedBuffer &destination, Count from, Count to) {
    alignas(64) char packed[detour_bytes];
    for (Count begin = from; begin < to; begin += detour_bytes) {
        Count end = std::min(begin + detour_bytes, to);
        pack(source, begin, end, packed);
        unpack(destination, begin, end, packed);
    }
}

} // namespace

void pack(const TypedBuffer &source, Count from, Count to, void *packed) {
    PackedSink<Direction::pack> sink(static_cast<char *>(packed));
    Walk(*source.plan, sink).elements(address_of(source), source.count, from, to);
}

void unpack(const TypedBuffer &destination, Count from, Count to, const void *packed) {
    PackedSink<Direction::unpack> sink(const_cast<char *>(static_cast<const char *>(packed)));
    Walk(*destination.plan, sink).elements(address_of(destination), destination.count, from, to);
}

void copy_between(const TypedBuffer &source, const TypedBuffer &destination, Count from, Count to) {
    if (from >= to) return;
    if (char *address = single_block(destination, from)) return pack(source, from, to, address);
    if (const char *address = single_block(source, from)) return unpack(destination, from, to, address);
    if (same_layout(source, destination)) {
        std::uintptr_t first = displaced(address_of(source), source.plan->displacement);
        ShiftedSink sink(displaced(address_of(destination), destination.plan->displacement) - first);
        Walk(*source.plan, sink).elements(address_of(source), source.count, from, to);
    } else if (worth_merging(source, destination)) {
        copy_merging(source, destination, from, to);
    } else {
        copy_with_detour(source, destination, from, to);
    }
}

bool for_each_segment(const TypedBuffer &buffer, Count from, Count to, SegmentVisitor visit) {
    SegmentSink sink(visit);
    return Walk(*buffer.plan, sink).elements(address_of(buffer), buffer.count, from, to) && sink.flush();
}

int fill_segments(const TypedBuffer &buffer, Count from, Count to, iovec *segments, int most, Count &covered) {
    int filled = 0;
    covered = 0;
    for_each_segment(buffer, from, to, [&](char *address, Count bytes) {
        if (filled == most) return false;
        segments[filled++] = {address, static_cast<std::size_t>(bytes)};
        covered += bytes;
        return true;
    });
    return filled;
}

} // namespace volley
