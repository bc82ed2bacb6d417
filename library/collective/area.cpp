// SPDX-License-Identifier: BSD-3-Clause
#include "collective/area.h"

#include "boot/status_page.h"
#include "core/failures.h"
#include "transport/shm/lines.h"

#include <algorithm>
#include <cstring>

namespace volley {
namespace {

/// Published data up to here gains by being demoted to a cache level that cores share, longer data loses (2 ranks,
/// called in a row, bench/collectives.cpp: allgather of 384 B 0.24 us demoted, 0.27 not; bcast of 1 KiB 0.27 demoted,
/// 0.15 not).
constexpr std::size_t most_demoted_when_published = 384;

void depart(Communicator &communicator) {
    if (communicator.area != nullptr) leave_area(*communicator.area);
    communicator.area = nullptr;
}

const bool registered = (Communicator::on_release(depart), true);

} // namespace

CollectiveArea *make_area(const Group &group) {
    int ranks = group.size();
    // Until all processes of the node have joined the job, it is not certain where they are: a process may exec another
    // program.
    if (node.shared->joined.load(std::memory_order_acquire) < node.ranks()) return nullptr;
    // All members must share memory with each other; otherwise they have only messages.
    if (!std::ranges::all_of(group.processes(), [](ProcessIndex process) {
            return processes[process].record != nullptr && processes[process].transport == Transport::shm;
        }))
        return nullptr;
    // Where ranks may fail, one that gives an operation up cannot know who still reads its buffers, or writes to them.
    bool direct = node.arena->recovery == 0 && std::ranges::all_of(group.processes(), [](ProcessIndex process) {
                      return node.may_dereference(process);
                  });
    // Rooms and stage are optional. Half of the arena is left for messages.
    std::size_t room_bytes = CollectiveArea::room_bytes_for(ranks, direct);
    std::size_t stage_bytes = CollectiveArea::stage_bytes_for(ranks, direct);
    Allocator::Statistics arena = arena_statistics();
    auto fits = [&] {
        return arena.used + CollectiveArea::footprint(ranks, room_bytes, stage_bytes) <= arena.whole / 2;
    };
    if (!fits()) stage_bytes = 0;
    if (!fits()) room_bytes = 0;
    void *made = arena_allocate_undefined(CollectiveArea::footprint(ranks, room_bytes, stage_bytes));
    if (made == nullptr) return nullptr;
    // All but results, rooms and stage has to be zero.
    auto *area = static_cast<CollectiveArea *>(made);
    std::memset(made, 0, offsetof(CollectiveArea, result));
    std::memset(static_cast<void *>(area->slots()), 0, CollectiveArea::head_bytes(ranks) - sizeof *area);
    area->room_bytes = static_cast<std::uint32_t>(room_bytes);
    area->stage_bytes = static_cast<std::uint32_t>(stage_bytes);
    area->ranks = static_cast<std::uint32_t>(ranks);
    area->direct = direct;
    return area;
}

void leave_area(CollectiveArea &area) {
    // The last to depart sees all that the others have done in the area (acquire and release). No rank comes back.
    if (area.departed.fetch_add(1, std::memory_order_acq_rel) + 1 != area.ranks) return;
    auto ranks = static_cast<int>(area.ranks);
    std::size_t all = CollectiveArea::footprint(ranks, area.room_bytes, area.stage_bytes);
    bool only_head = area.buffers_used.load(std::memory_order_relaxed) == 0;
    arena_release(&area, all, only_head ? CollectiveArea::head_bytes(ranks) : all);
}

CollectiveRound::CollectiveRound(Communicator &communicator, const WaitingFor &about)
    : communicator_(communicator), area_(*communicator.area), about_(about), number_(communicator.rounds++) {
    // It may have been lost in the round before, of the same operation. Not all ranks will meet here again.
    if (communicator.fault != MPI_SUCCESS) [[unlikely]]
        throw Interrupted(failures.code_of(communicator));
    if (communicator.published)
        communicator.published->rounds.store(static_cast<std::uint32_t>(number_ + 1), std::memory_order_relaxed);
    // A rank that reads the slots of a round has finished reading when it enters the next round. So this rank may write
    // its slot again once all ranks have entered the round after the slot's previous one.
    bool counts = !exchanges(communicator);
    if (!counts && number_ >= communicator.entered_told + CollectiveArea::rounds_per_telling) tell_entered();
    if (number_ < CollectiveArea::depth || communicator.entered_by_all > number_ - CollectiveArea::depth) return;
    if (counts)
        wait_released(number_ - CollectiveArea::depth + 2);
    else
        wait_entered(number_ - CollectiveArea::depth + 1);
}

WaitingFor CollectiveRound::about_round(std::uint64_t number, ProcessIndex process) const {
    WaitingFor about = about_;
    about.kind = WaitKind::round;
    about.tag = static_cast<int>(number);
    about.peer_process = process;
    return about;
}

void CollectiveRound::wake_others() {
    for (int rank = 0; rank < communicator_.size(); ++rank)
        if (rank != communicator_.rank()) node.wake_rank(communicator_.peer_process(rank));
}

template <class Ready> void CollectiveRound::wait_until(Ready &&ready, const WaitingFor &about) {
    engine.wait_until([&] { return ready() || communicator_.fault != MPI_SUCCESS; }, about);
    if (communicator_.fault != MPI_SUCCESS && !ready()) [[unlikely]]
        throw Interrupted(failures.code_of(communicator_));
}

void CollectiveRound::publish() {
    auto bytes = static_cast<std::size_t>(own_bytes_);
    bool in_room = bytes > RoundSlot::inline_bytes && node.has_own_core();
    // The other ranks will read the room's lines next. The slot's line is not demoted: they poll it all the time.
    if (in_room && bytes <= most_demoted_when_published) demote(data(communicator_.rank(), own_bytes_), bytes);
    own().published.store(number_ + 1, std::memory_order_release);
    wake_others();
    // The next data to publish is likely as long. Prefetching brings its lines back from their readers while this rank
    // waits for others; otherwise the next store to `published` would have to wait for them.
    if (in_room && bytes <= area_.room_bytes)
        prefetch_for_writing(area_.room(static_cast<std::uint64_t>(communicator_.rank()), number_ + 1), bytes);
}

void CollectiveRound::wait_for_published(int rank) {
    std::atomic<std::uint64_t> &published = slot(rank).published;
    wait_until([&] { return published.load(std::memory_order_acquire) == number_ + 1; },
               about_round(number_, communicator_.peer_process(rank)));
}

void CollectiveRound::wait_for_all_published() {
    int rank = 0;
    auto all_published = [&] {
        for (; rank < communicator_.size(); ++rank)
            if (rank != communicator_.rank() && slot(rank).published.load(std::memory_order_acquire) != number_ + 1)
                return false;
        return true;
    };
    wait_until(all_published, about_round(number_, -1));
}

void CollectiveRound::release() {
    area_.released.store(number_ + 1, std::memory_order_release);
    wake_others();
}

void CollectiveRound::wait_released(std::uint64_t rounds) {
    wait_until([&] { return area_.released.load(std::memory_order_acquire) >= rounds; }, about_round(rounds - 1, -1));
}

void CollectiveRound::wait_entered(std::uint64_t round) {
    CollectiveArea::Entered *entered = area_.entered();
    std::uint64_t all;
    auto have_entered = [&] {
        all = number_;
        for (int rank = 0; rank < communicator_.size(); ++rank)
            if (rank != communicator_.rank()) all = std::min(all, entered[rank].round.load(std::memory_order_acquire));
        return all >= round;
    };
    wait_until(have_entered, about_round(round, -1));
    communicator_.entered_by_all = all;
}

InPlaceRound::InPlaceRound(Communicator &communicator, const WaitingFor &about) : CollectiveRound(communicator, about) {
    mark().store(1, std::memory_order_relaxed);
    sender_fence(node.fences);
    if (!failures.has_seen_all()) [[unlikely]]
        failures.look();
    if (communicator.fault == MPI_SUCCESS) [[likely]]
        return;
    mark().store(0, std::memory_order_relaxed); // nothing has been accessed, nor published
    throw Interrupted(failures.code_of(communicator));
}

/// Nobody waits here for a rank that waits itself: each takes its own mark away first, and whoever waits in a round
/// learns of what has happened here.
void InPlaceRound::wait_for_others() {
    if (node.fences == FenceKind::global_barrier)
        heavy_fence();
    else
        std::atomic_thread_fence(std::memory_order_seq_cst);
    for (std::uint32_t rank = 0; rank < area_.ranks; rank++)
        Wait::briefly([&] { return area_.entered()[rank].in_place.load(std::memory_order_acquire) == 0; });
}

void CollectiveRound::tell_entered() {
    area_.entered()[communicator_.rank()].round.store(number_, std::memory_order_release);
    communicator_.entered_told = number_;
    wake_others();
}

} // namespace volley
