// SPDX-License-Identifier: BSD-3-Clause
/// The collective area: memory that the ranks of a communicator share for collective operations.
///
/// An operation takes one or two numbered *rounds*. In each round a rank may *publish* something in its slot (a few
/// bytes of data, or where its buffers are), and it *arrives* at some time. The last rank to arrive *releases* the
/// round, maybe with a result for all. Nothing is ever reset: slots and counters carry the numbers of rounds.
///
/// With more ranks than cores, what matters is how often a rank has to run. That is once per round: when a rank runs
/// again, it finds the whole round done. A few ranks with a core each *exchange* instead, where they only want to read
/// what the others publish. Then arrivals are not counted. Each rank looks at all slots, and the cache line that says
/// "published" brings the published data with it.
///
/// A rank may be `depth` rounds ahead of the others: a root that has published its data need not wait. A rank knows how
/// far the others are from the last released round; where arrivals are not counted, each rank reports its round from
/// time to time.
#pragma once

#include "boot/cpus.h"
#include "boot/job.h"
#include "core/communicator.h"
#include "core/engine.h"
#include "layout/checked.h"
#include "transport/shm/lines.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace volley {

struct alignas(cache_line) RoundSlot {
    static constexpr std::size_t inline_bytes = 48;

    std::atomic<std::uint64_t> published; ///< 1 + the number of the round for which `data` is published
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
    static constexpr std::size_t by_last_bytes = 8192; ///< the longest result that the last rank may make for all

    struct alignas(cache_line) Entered {
        std::atomic<std::uint64_t> round;    ///< the last round that the rank has reported to have entered
        std::atomic<std::uint32_t> in_place; ///< 1: the rank may access memory of others (InPlaceRound)
    };

    struct alignas(cache_line) Arrivals {
        std::atomic<std::uint64_t> count; ///< of all counted rounds so far that share this entry (modulo depth)
    };

    static constexpr int few_ranks = 8; ///< up to this many may exchange: each reads from each
    /// Where ranks exchange, a rank reports its round after this many rounds without a meet(): often enough that a rank
    /// ahead need not wait for the report.
    static constexpr std::uint64_t rounds_per_telling = depth / 4;
    static constexpr int most_with_rooms = 64;
    /// Of processes. A few publish more rather than use the stage, which takes a round more (2 processes of a Zen 5
    /// with a core each, in rooms of 8 and of 16 KiB: allreduce of 9 KiB 2.1 and 1.1 us, 16 KiB 2.7 and 1.7, reduce 3.0
    /// and 1.8; in rooms of 64 KiB allgather of 48 KiB 3.6 and 3.8).
    static constexpr std::size_t most_room_bytes = 8192, largest_room_bytes = 16384;
    /// The stage takes memory only once it is used. Smaller pieces mean more rounds (8 processes on 2 cores, allreduce
    /// of 256 KiB: 390 us in pieces of 16 KiB, 180 of 64, 142 of 256).
    static constexpr std::size_t most_stage_bytes = 262144;
    /// Up to this many bytes in all per rank, an alltoall of ranks in one address space is staged; above, they read the
    /// data in place (called in a row, in place and staged; 4 ranks on 2 cores: 16 KiB 6.2 and 4.2 us, 32 KiB 7.1 and
    /// 5.6, 64 KiB 8.1 and 9.3; 8 ranks: 15 and 9.9, 16 and 14, 19 and 22). Allgather gains nothing; the vector of a
    /// reduce_scatter of ranks that share cores does (4 ranks: 16 KiB 12.5 and 9.3 us, 64 KiB 15 and 16).
    static constexpr std::size_t most_staged_at_once = 32768;
    /// The same for ranks with a core each (volley tune on a Zen 5, 2 ranks: 2 KiB in all 0.30 and 0.19 us, 8 KiB 0.38
    /// and 0.25, 16 KiB 0.44 and 0.37, 32 KiB 0.65 and 0.66).
    static constexpr std::size_t most_staged_by_exchange = 16384;
    /// Up to here a few ranks with a core each, in one address space, publish data; above, they read it in place.
    /// Published data is copied twice, one copy after the other; in place it takes a round more (volley tune on a Zen
    /// 5, 2 ranks, buffers written between: allreduce of 3 KiB 0.20 us published, 0.28 in place, of 4 KiB 0.27 and
    /// 0.30; bcast of 2 KiB 0.17 and 0.18, of 3 KiB 0.19 and 0.22, of 4 KiB 0.24 and 0.21).
    static constexpr std::size_t most_exchanged_bytes = 4096;
    static constexpr std::size_t most_sent_out_bytes = 2048;
    /// Where blocks migrate, they publish less, in one address space and as processes: rooms are written and read in
    /// turn, and their lines go back and forth (volley tune on a Zen 4, 2 ranks, part of the time that publishing took:
    /// in place, bcast of 2 KiB 0.83, allreduce of 2 to 8 KiB 0.71; processes, bcast from 4 KiB on by messages 0.46,
    /// allreduce of 4 to 64 KiB over the stage 0.78, reduce of 8 to 32 KiB 0.64, alltoall of 4 KiB in all 0.77).
    static constexpr std::size_t most_exchanged_migrating = 1984, most_exchanged_by_processes = 4032;

    std::uint32_t ranks;
    std::uint32_t direct;      ///< 1: ranks may use each other's pointers
    std::uint32_t room_bytes;  ///< of a rank's room, for data that is too long for its slot; 0: there are no rooms
    std::uint32_t stage_bytes; ///< of a rank's place on the stage; 0: there is no stage
    std::atomic<std::uint32_t> buffers_used; ///< 1: rooms or stage may have been written
    std::atomic<std::uint32_t> departed;     ///< ranks that do not need the area any more
    Arrivals arrivals[depth];
    alignas(cache_line) std::atomic<std::uint64_t> released; ///< rounds
    alignas(16) unsigned char small_result[RoundSlot::inline_bytes];
    alignas(cache_line) unsigned char result[by_last_bytes];

    RoundSlot *slots() {
        return reinterpret_cast<RoundSlot *>(this + 1);
    }
    /// One entry per rank, behind the slots.
    Entered *entered() {
        return reinterpret_cast<Entered *>(slots() + ranks * depth);
    }
    /// The size of a room: up to it, publishing is quicker than messages, or than reading in place, which takes two
    /// rounds (called in a row: 8 ranks on 2 cores gather 4 KiB in 2.5 us published, in 5 read in place; 2 ranks in
    /// 0.38 and 0.65). Rooms take memory only once they are used.
    static std::size_t room_bytes_for(int ranks, bool direct) {
        if (ranks > most_with_rooms) return 0;
        return direct ? 4096 : ranks <= few_ranks ? largest_room_bytes : most_room_bytes;
    }
    static std::size_t stage_bytes_for(int ranks, bool direct) {
        if (ranks > most_with_rooms) return 0;
        return direct ? most_staged_at_once : most_stage_bytes;
    }
    /// The room of one rank in one round. Rooms lie behind the `entered` entries; all rooms of a round lie side by
    /// side.
    unsigned char *room(std::uint64_t rank, std::uint64_t round) {
        if (buffers_used.load(std::memory_order_relaxed) == 0) buffers_used.store(1, std::memory_order_relaxed);
        auto *rooms = reinterpret_cast<unsigned char *>(entered() + ranks);
        return rooms + (round % depth * ranks + rank) * room_bytes;
    }
    /// A rank's place on the stage, where ranks pass data that is too large to be published, piece by piece: each rank
    /// copies its part of a piece to its place, all ranks meet, and each copies out what it needs. Two sets of places
    /// take turns, which is enough: a rank that meets for a piece has taken all it needs of the piece before. All
    /// places of a piece lie side by side, behind the rooms.
    unsigned char *stage(int rank, std::uint64_t piece) {
        auto *places = room(0, 0) + depth * all_rooms_bytes();
        return places + (piece % 2 * ranks + static_cast<std::uint64_t>(rank)) * stage_bytes;
    }
    std::size_t all_rooms_bytes() const {
        return std::size_t{ranks} * room_bytes;
    }
    /// The bytes of all but rooms and stage.
    static std::size_t head_bytes(int ranks) {
        return sizeof(CollectiveArea) + static_cast<std::size_t>(ranks) * (depth * sizeof(RoundSlot) + sizeof(Entered));
    }
    static std::size_t footprint(int ranks, std::size_t room_bytes, std::size_t stage_bytes) {
        return head_bytes(ranks) + static_cast<std::size_t>(ranks) * (depth * room_bytes + 2 * stage_bytes);
    }
};

/// Makes an area in the arena for the members of a group. One of them calls it when the communicator is made, and tells
/// the others the area's arena_offset; each stores it in communicator.area. nullptr if the group cannot have an area or
/// the arena is used up: the communicator then does without.
CollectiveArea *make_area(const Group &group);
/// Each rank of the area calls it once, when its communicator is destroyed; the last gives the memory back.
void leave_area(CollectiveArea &area);

/// Whether the communicator's ranks exchange: they are few, and have a core each.
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

    /// Whether data is so small that it should be published, in a rank's slot or its room: data that others only copy
    /// goes over the stage otherwise, of which fewer lines are in use (2 processes, allgather of 16 KiB: 1.0 us in
    /// rooms, 0.6 over the stage).
    static bool fits(const Communicator &communicator, Count bytes) {
        return bytes <= static_cast<Count>(CollectiveArea::most_room_bytes) && vector_fits(communicator, bytes);
    }
    /// The same for a vector that is reduced, which takes a round more over the stage.
    static bool vector_fits(const Communicator &communicator, Count bytes) {
        return bytes <= most_published(communicator, CollectiveArea::most_exchanged_bytes);
    }
    /// The same for a result that all ranks want. Where many ranks can use each other's pointers, it is better that the
    /// last to arrive makes the result for all, so only what fits a slot is published.
    static bool all_fit(const Communicator &communicator, Count bytes) {
        bool by_last = communicator.area->direct && !exchanges(communicator);
        if (by_last) return bytes <= static_cast<Count>(RoundSlot::inline_bytes);
        if (!exchanges(communicator) && bytes > static_cast<Count>(CollectiveArea::by_last_bytes)) return false;
        return vector_fits(communicator, bytes);
    }
    /// The same where only one rank publishes. Where ranks share cores, it may use all rooms of the round.
    static bool fits_alone(const Communicator &communicator, Count bytes) {
        bool all_rooms = node.oversubscribed() && bytes <= static_cast<Count>(communicator.area->all_rooms_bytes());
        return all_rooms || bytes <= most_published(communicator, CollectiveArea::most_sent_out_bytes);
    }
    /// Whether larger data goes over the stage. For a few ranks with a core each, that was quicker than messages only
    /// where cache lines migrate (2 processes, 32 KiB: allreduce 3.9 -> 3.1 us, allgather 3.5 -> 2.8).
    static bool is_staged(const Communicator &communicator) {
        const CollectiveArea &area = *communicator.area;
        return area.direct == 0 && area.stage_bytes > 0 && (lines_migrate || !exchanges(communicator));
    }
    /// Whether ranks that could read the data in place use the stage instead: one round less is worth one more copy.
    static bool is_staged_at_once(const Communicator &communicator, Count bytes) {
        const CollectiveArea &area = *communicator.area;
        const std::size_t most =
            exchanges(communicator) ? CollectiveArea::most_staged_by_exchange : std::size_t{area.stage_bytes};
        return area.direct != 0 && bytes <= static_cast<Count>(most);
    }
    /// Where a rank publishes data of this length.
    unsigned char *data(int rank, Count bytes) {
        if (bytes <= static_cast<Count>(RoundSlot::inline_bytes)) return slot(rank).data;
        bool alone = bytes > static_cast<Count>(area_.room_bytes);
        return area_.room(alone ? 0 : static_cast<std::uint64_t>(rank), number_);
    }
    /// Where this rank writes what it is about to publish.
    unsigned char *own_data(Count bytes) {
        own_bytes_ = bytes;
        if (bytes > static_cast<Count>(RoundSlot::inline_bytes)) prefetch_for_writing(&own(), sizeof(RoundSlot));
        return data(communicator_.rank(), bytes);
    }

    /// Lets the others read this rank's slot and room from now on, before this rank arrives.
    void publish();
    /// Waits until a rank has published.
    void wait_for_published(int rank);

    /// Arrives. True if this rank is the last: then it may read all slots, and has to call release(). In a round in
    /// which one rank arrives, all ranks do.
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
    /// Waits until all ranks have arrived and the round is released.
    void wait() {
        wait_released(number_ + 1);
    }
    void arrive_and_wait() {
        if (arrive())
            release();
        else
            wait();
    }

    /// All ranks call it, with their slots filled; afterwards each may read all slots. `meanwhile` is called before
    /// this rank waits, and where ranks exchange after it has published.
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
    /// For a round in which only one rank reads: that rank calls collect(), the others hand_in() their slots.
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
    /// Ends a round in which one rank has published and the others have copied the data. No rank waits for another.
    void depart() {
        if (!exchanges(communicator_)) arrive_and_go();
    }

    CollectiveArea &area() {
        return area_;
    }

  protected:
    Communicator &communicator_;
    CollectiveArea &area_;

  private:
    /// The most bytes that a rank should publish: the size of a room, or at most `few` for a few ranks that could read
    /// the data in place; less for a few where blocks migrate. A slot's bytes can always be published.
    static Count most_published(const Communicator &communicator, std::size_t few) {
        const CollectiveArea &area = *communicator.area;
        std::size_t most = area.room_bytes;
        if (exchanges(communicator)) {
            if (area.direct != 0) most = std::min(most, few);
            if (blocks_migrate)
                most = std::min(most, area.direct != 0 ? CollectiveArea::most_exchanged_migrating
                                                       : CollectiveArea::most_exchanged_by_processes);
        }
        return static_cast<Count>(std::max(most, RoundSlot::inline_bytes));
    }
    /// Throws Interrupted if the communicator has lost a member, or was revoked.
    template <class Ready> void wait_until(Ready &&ready, const WaitingFor &about);
    /// Waits until all other ranks have published.
    void wait_for_all_published();
    /// Waits until this many rounds are released.
    void wait_released(std::uint64_t rounds);
    /// Waits until all others have reported to have entered a round. Used where arrivals are not counted.
    void wait_entered(std::uint64_t round);
    void tell_entered();
    /// What a wait publishes: the number of the round, and the process whose data it needs, or -1.
    WaitingFor about_round(std::uint64_t number, ProcessIndex process) const;
    void wake_others();

    const WaitingFor &about_;
    std::uint64_t number_;
    Count own_bytes_ = 0; ///< in own_data()
};

/// A round in which ranks access buffers of others in place. A rank that gives the operation up, since the communicator
/// was revoked, leaves its buffers to the program only when no other can be accessing them any more: while a rank may
/// access memory of others, it says so, and whoever gives up waits until none does.
///
/// A rank says so, then looks whether something has happened that it has not seen; whoever gives up has seen it, then
/// looks at what the others say. The order of a store and a load that this needs on both sides is that of wait/sleep.h:
/// the rare side pays for both.
class InPlaceRound : public CollectiveRound {
  public:
    InPlaceRound(Communicator &communicator, const WaitingFor &about);
    InPlaceRound(const InPlaceRound &) = delete;
    InPlaceRound &operator=(const InPlaceRound &) = delete;
    ~InPlaceRound() {
        mark().store(0, std::memory_order_release);
        if (communicator_.fault != MPI_SUCCESS) [[unlikely]]
            wait_for_others();
    }

  private:
    std::atomic<std::uint32_t> &mark() {
        return area_.entered()[communicator_.rank()].in_place;
    }
    [[gnu::cold]] void wait_for_others();
};

} // namespace volley
