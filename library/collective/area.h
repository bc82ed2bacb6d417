// SPDX-License-Identifier: BSD-3-Clause
/// Memory in which the ranks of a communicator meet for collective operations.
///
/// They meet in numbered *rounds*, one or two per operation. In each, a rank may *publish* something in its slot
/// (a few bytes of data, or where its buffers are), and *arrives* at some time; whoever arrives last *releases* the
/// round, maybe with a result for all. Nothing is ever reset: slots and counters carry rounds' numbers.
///
/// With more ranks than cores, what counts is how often a rank has to run: once per round, as a rank finds all of it
/// done when it runs again. A few ranks with a core each *exchange* instead where they only want each other's
/// publishes: nobody counts, each looks at all slots, and the line that says "published" brings the publish with it.
///
/// A rank may be `depth` rounds ahead of the others: a root that sent its data on need not wait. How far they are, it
/// knows from the last round that is released; where nobody counts, each tells from time to time.
#pragma once

#include "boot/cpus.h"
#include "boot/job.h"
#include "core/communicator.h"
#include "core/engine.h"
#include "layout/checked.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace volley {

struct alignas(cache_line) RoundSlot {
    static constexpr std::size_t inline_bytes = 48;

    std::atomic<std::uint64_t> published; ///< 1 + the round whose publish this is
    std::uint64_t reserved;
    alignas(16) unsigned char data[inline_bytes];

    template <class Type> Type &as() {
        static_assert(sizeof(Type) <= inline_bytes && alignof(Type) <= 16);
        return *reinterpret_cast<Type *>(data);
    }
};

/// Plain data in the arena; the slots follow it.
struct CollectiveArea {
    static constexpr std::uint64_t depth = 16;
    static constexpr std::size_t by_last_bytes = 8192; ///< up to here the last to come may make a result for all

    struct alignas(cache_line) Entered {
        std::atomic<std::uint64_t> round; ///< the last that a rank has told it is in, or behind
    };

    struct alignas(cache_line) Arrivals {
        std::atomic<std::uint64_t> count; ///< in all counted rounds whose number among these, modulo depth, this is
    };

    static constexpr int few_ranks = 8; ///< so many may exchange: each reads from each
    /// So often a rank tells which round it has come to, if it does not exchange: often enough for those ahead.
    static constexpr std::uint64_t rounds_per_telling = depth / 4;
    static constexpr int most_with_rooms = 64;
    static constexpr std::size_t most_room_bytes = 8192;
    /// Pages exist once used. Smaller pieces mean more rounds (8 processes on 2 cores, allreduce of 256 KiB: 390 us
    /// in pieces of 16 KiB, 180 of 64, 142 of 256).
    static constexpr std::size_t most_stage_bytes = 262144;
    /// Shared ranks, alltoall of so many bytes in all per rank (called in a row, read where they lie and staged; 4
    /// ranks on 2 cores: 16 KiB 6.2 and 4.2 us, 32 KiB 7.1 and 5.6, 64 KiB 8.1 and 9.3; 8 ranks: 15 and 9.9, 16 and 14,
    /// 19 and 22). Allgather gains nothing.
    static constexpr std::size_t most_staged_at_once = 32768;
    /// Of a few ranks with a core each, which may read where data lies: above, they do. A publish is copied twice, one
    /// copy after the other (volley study, 2 ranks: reduce of 1 KiB 0.48 us published, 0.52 read, of 4 KiB 0.95 and
    /// 0.57; bcast of 512 B 0.47 and 0.45, of 4 KiB 0.83 and 0.46).
    static constexpr std::size_t most_exchanged_bytes = 1024;
    static constexpr std::size_t most_sent_out_bytes = 512;

    std::uint32_t ranks;
    std::uint32_t direct;      ///< 1: they may use each other's pointers
    std::uint32_t room_bytes;  ///< that a rank may publish if its slot is too small; 0: no more than that
    std::uint32_t stage_bytes; ///< of a rank's place on the stage; 0: there is none
    std::atomic<std::uint32_t> comforts_used; ///< 1: rooms or stage may have been written
    std::atomic<std::uint32_t> departed;      ///< ranks that do not need it any more
    Arrivals arrivals[depth];
    alignas(cache_line) std::atomic<std::uint64_t> released; ///< rounds
    alignas(16) unsigned char small_result[RoundSlot::inline_bytes];
    alignas(cache_line) unsigned char result[by_last_bytes];

    RoundSlot *slots() {
        return reinterpret_cast<RoundSlot *>(this + 1);
    }
    /// One of each rank, behind the slots.
    Entered *entered() {
        return reinterpret_cast<Entered *>(slots() + ranks * depth);
    }
    /// So much that messages, or reading where the data lies in two rounds, take longer above (called in a row: 8
    /// ranks on 2 cores gather 4 KiB in 2.5 us published, in 5 read; 2 ranks in 0.38 and 0.65). Pages exist once used.
    static std::size_t room_bytes_for(int ranks, bool direct) {
        if (ranks > most_with_rooms) return 0;
        return direct ? 4096 : most_room_bytes;
    }
    static std::size_t stage_bytes_for(int ranks, bool direct) {
        if (ranks > most_with_rooms) return 0;
        return direct ? most_staged_at_once : most_stage_bytes;
    }
    /// Of one rank in one round, behind all else; all rooms of a round lie side by side.
    unsigned char *room(std::uint64_t rank, std::uint64_t round) {
        if (comforts_used.load(std::memory_order_relaxed) == 0) comforts_used.store(1, std::memory_order_relaxed);
        auto *rooms = reinterpret_cast<unsigned char *>(entered() + ranks);
        return rooms + (round % depth * ranks + rank) * room_bytes;
    }
    /// Where ranks pass what is too large to be published, in pieces: each rank brings its own to its place, all meet,
    /// and each takes what it wants. The places of two pieces take turns: who meets for one has taken all of the one
    /// before. All places of a piece lie side by side, behind the rooms.
    unsigned char *stage(int rank, std::uint64_t piece) {
        auto *places = room(0, 0) + depth * all_rooms_bytes();
        return places + (piece % 2 * ranks + static_cast<std::uint64_t>(rank)) * stage_bytes;
    }
    std::size_t all_rooms_bytes() const {
        return std::size_t{ranks} * room_bytes;
    }
    /// All but rooms and stage.
    static std::size_t head_bytes(int ranks) {
        return sizeof(CollectiveArea) + static_cast<std::size_t>(ranks) * (depth * sizeof(RoundSlot) + sizeof(Entered));
    }
    static std::size_t footprint(int ranks, std::size_t room_bytes, std::size_t stage_bytes) {
        return head_bytes(ranks) + static_cast<std::size_t>(ranks) * (depth * room_bytes + 2 * stage_bytes);
    }
};

/// An area for the members of that group, in the arena. One of them makes it when the communicator is made and tells
/// the others (arena_offset); each stores it in communicator.area. nullptr, which is fine there, if the arena is used
/// up.
CollectiveArea *make_area(const Group &group);
/// Each of its ranks calls it once, when its communicator goes; the last gives the memory back.
void leave_area(CollectiveArea &area);

/// Its ranks are a few with a core each.
inline bool exchanges(const Communicator &communicator) {
    return communicator.size() <= CollectiveArea::few_ranks && !node.oversubscribed();
}

/// This rank's part in one round.
class CollectiveRound {
  public:
    CollectiveRound(Communicator &communicator, const WaitingFor &about);

    RoundSlot &own() {
        return slot(communicator_.rank());
    }
    RoundSlot &slot(int rank) {
        return area_
            .slots()[static_cast<std::uint64_t>(rank) * CollectiveArea::depth + number_ % CollectiveArea::depth];
    }

    /// Data so small that it can be published, in a rank's slot or its room, where one rank publishes or one rank
    /// reads.
    static bool fits(const Communicator &communicator, Count bytes) {
        return bytes <= most_published(communicator, CollectiveArea::most_exchanged_bytes);
    }
    /// The same for a result that all want. Many do better with the last to come making it for all.
    static bool all_fit(const Communicator &communicator, Count bytes) {
        bool by_last = communicator.area->direct && !exchanges(communicator);
        return by_last ? bytes <= static_cast<Count>(RoundSlot::inline_bytes) : fits(communicator, bytes);
    }
    /// The same where one rank publishes, and may use all rooms. With a core for each rank they read where the data
    /// lies.
    static bool fits_alone(const Communicator &communicator, Count bytes) {
        bool all_rooms = node.oversubscribed() && bytes <= static_cast<Count>(communicator.area->all_rooms_bytes());
        return all_rooms || bytes <= most_published(communicator, CollectiveArea::most_sent_out_bytes);
    }
    /// Larger data goes over the stage. Where a few with a core each do that, it has been seen to be quicker than
    /// messages only where lines migrate (2 processes, 32 KiB: allreduce 3.9 -> 3.1 us, allgather 3.5 -> 2.8).
    static bool is_staged(const Communicator &communicator) {
        const CollectiveArea &area = *communicator.area;
        return area.direct == 0 && area.stage_bytes > 0 && (lines_migrate || !exchanges(communicator));
    }
    /// Of ranks that might as well read where the data lies, but share cores: one more copy, and one round less.
    static bool is_staged_at_once(const Communicator &communicator, Count bytes) {
        const CollectiveArea &area = *communicator.area;
        return area.direct != 0 && bytes <= static_cast<Count>(area.stage_bytes) && !exchanges(communicator);
    }
    /// Where that is, of so many bytes.
    unsigned char *data(int rank, Count bytes) {
        if (bytes <= static_cast<Count>(RoundSlot::inline_bytes)) return slot(rank).data;
        bool alone = bytes > static_cast<Count>(area_.room_bytes);
        return area_.room(alone ? 0 : static_cast<std::uint64_t>(rank), number_);
    }
    /// Where this rank's is to be written.
    unsigned char *own_data(Count bytes) {
        own_bytes_ = bytes;
        return data(communicator_.rank(), bytes);
    }

    /// What the own slot and room hold may be read now, before this rank arrives.
    void publish();
    /// Until that rank has published.
    void wait_for_published(int rank);

    /// True if this rank is the last: then it has to call release(), and everyone's slots may be read. In a round
    /// in which one rank arrives, all do.
    bool arrive() {
        std::uint64_t number = communicator_.counted_rounds++;
        auto &count = area_.arrivals[number % CollectiveArea::depth].count;
        std::uint64_t all = (number / CollectiveArea::depth + 1) * area_.ranks;
        return count.fetch_add(1, std::memory_order_acq_rel) + 1 == all;
    }
    void release();
    void arrive_and_go() {
        if (arrive()) release();
    }
    /// Until all have arrived.
    void wait() {
        wait_released(number_ + 1);
    }
    void arrive_and_wait() {
        if (arrive())
            release();
        else
            wait();
    }

    /// All ranks call it, with their slots filled; then everyone's may be read. `meanwhile` is called once this rank's
    /// is on its way.
    template <class Meanwhile> void meet(Meanwhile &&meanwhile) {
        if (!exchanges(communicator_)) {
            meanwhile();
            return arrive_and_wait();
        }
        publish();
        meanwhile();
        wait_for_all_published();
        communicator_.entered_by_all = communicator_.entered_told = number_;
    }
    void meet() {
        meet([] {});
    }
    /// For what only one rank wants to read: the others hand_in() what their slots hold, that one calls collect().
    void hand_in() {
        if (exchanges(communicator_))
            publish();
        else
            arrive_and_go();
    }
    void collect() {
        if (!exchanges(communicator_)) return arrive_and_wait();
        wait_for_all_published();
        communicator_.entered_by_all = number_;
    }
    /// After a publish that one rank made, and the others have copied: none waits for another.
    void depart() {
        if (!exchanges(communicator_)) arrive_and_go();
    }

    CollectiveArea &area() {
        return area_;
    }

  private:
    /// What a slot takes, or a room, if there is one; of a few ranks that need not publish at all no more than `few`.
    static Count most_published(const Communicator &communicator, std::size_t few) {
        std::size_t room = communicator.area->room_bytes;
        if (exchanges(communicator) && communicator.area->direct) room = std::min(room, few);
        return static_cast<Count>(std::max(room, RoundSlot::inline_bytes));
    }
    /// Of all other ranks.
    void wait_for_all_published();
    void wait_released(std::uint64_t rounds);
    /// Where nobody counts: until all others have entered that round.
    void wait_entered(std::uint64_t round);
    void tell_entered();
    /// For others to see: which round this rank waits for, and the rank whose publish it needs, or -1.
    WaitingFor about_round(std::uint64_t number, ProcessIndex process) const;
    void wake_others();

    Communicator &communicator_;
    CollectiveArea &area_;
    const WaitingFor &about_;
    std::uint64_t number_;
    Count own_bytes_ = 0; ///< in own_data()
};

} // namespace volley
