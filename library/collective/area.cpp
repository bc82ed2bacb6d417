// SPDX-License-Identifier: BSD-3-Clause
#include "collective/area.h"

#include "boot/ledger.h"
#include "reach/lines.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace volley {
namespace {

/// Posts up to here gain by being handed down (2 ranks in a row, bench/collectives.cpp: allgather of 384 B 0.24 us,
/// else 0.27; bcast of 1 KiB 0.27, else 0.15).
constexpr std::size_t posts_handed_down = 384;

/// The areas this rank has made and not yet found given up by all.
std::vector<CollectiveArea *> &made_areas() {
    static auto *made = new std::vector<CollectiveArea *>;
    return *made;
}

void leave(Communicator &communicator) {
    if (communicator.area != nullptr) communicator.area->leavers.fetch_add(1, std::memory_order_release);
    communicator.area = nullptr;
}

const bool registered = (Communicator::on_release(leave), true);

/// One of this kind that all its ranks have left, or nullptr.
CollectiveArea *take_back(int ranks, bool direct) {
    for (CollectiveArea *&area : made_areas()) {
        if (area->ranks != static_cast<std::uint32_t>(ranks) || area->direct != direct) continue;
        if (area->leavers.load(std::memory_order_acquire) != area->ranks) continue;
        CollectiveArea *taken = area;
        area = made_areas().back();
        made_areas().pop_back();
        std::uint32_t room_bytes = taken->room_bytes, stage_bytes = taken->stage_bytes;
        std::memset(static_cast<void *>(taken), 0, CollectiveArea::head_bytes(ranks));
        taken->room_bytes = room_bytes;
        taken->stage_bytes = stage_bytes;
        return taken;
    }
    return nullptr;
}

} // namespace

CollectiveArea *make_area(const Group &group) {
    int ranks = group.size();
    bool direct = std::ranges::all_of(group.world_ranks(),
                                      [](std::int32_t world_rank) { return engine.may_dereference(world_rank); });
    CollectiveArea *area = take_back(ranks, direct);
    if (area == nullptr) {
        // Rooms and stage are a comfort; half of the arena is for what messages need.
        std::size_t room_bytes = CollectiveArea::room_bytes_for(ranks, direct);
        std::size_t stage_bytes = CollectiveArea::stage_bytes_for(ranks, direct);
        std::uint64_t used = engine.arena->next_free.load(std::memory_order_relaxed);
        auto fits = [&] {
            return used + CollectiveArea::footprint(ranks, room_bytes, stage_bytes) <= engine.arena->bytes / 2;
        };
        if (!fits()) stage_bytes = 0;
        if (!fits()) room_bytes = 0;
        area = static_cast<CollectiveArea *>(arena_allocate(CollectiveArea::footprint(ranks, room_bytes, stage_bytes)));
        if (area == nullptr) return nullptr;
        area->room_bytes = static_cast<std::uint32_t>(room_bytes);
        area->stage_bytes = static_cast<std::uint32_t>(stage_bytes);
    }
    area->ranks = static_cast<std::uint32_t>(ranks);
    area->direct = direct;
    made_areas().push_back(area);
    return area;
}

Meeting::Meeting(Communicator &communicator, const WaitingFor &about)
    : communicator_(communicator), area_(*communicator.area), about_(about), number_(communicator.meetings++) {
    if (communicator.published)
        communicator.published->meetings.store(static_cast<std::uint32_t>(number_ + 1), std::memory_order_relaxed);
    // Whoever reads slots after a meeting has done so when it enters the next one: the own slot is free for this
    // meeting if all have entered the one after that which had it before.
    bool counts = !exchanges(communicator);
    if (!counts && number_ >= communicator.entered_told + CollectiveArea::meetings_per_telling) tell_entered();
    if (number_ < CollectiveArea::depth || communicator.entered_by_all > number_ - CollectiveArea::depth) return;
    if (counts)
        wait_concluded(number_ - CollectiveArea::depth + 2);
    else
        wait_entered(number_ - CollectiveArea::depth + 1);
}

WaitingFor Meeting::about_meeting(std::uint64_t number, int world_rank) const {
    WaitingFor about = about_;
    about.kind = WaitKind::meeting;
    about.tag = static_cast<int>(number);
    about.world_peer = world_rank;
    return about;
}

void Meeting::wake_others() {
    for (int rank = 0; rank < communicator_.size(); ++rank)
        if (rank != communicator_.rank()) engine.wake_rank(communicator_.peer_world_rank(rank));
}

void Meeting::post() {
    auto bytes = static_cast<std::size_t>(own_bytes_);
    bool in_room = bytes > MeetingLine::inline_bytes && engine.has_own_core();
    // The room's lines are the others' next; a slot's is asked for all the time.
    if (in_room && bytes <= posts_handed_down) hand_down(data(communicator_.rank(), own_bytes_), bytes);
    own().posted.store(number_ + 1, std::memory_order_release);
    wake_others();
    // The next post is likely as long. Its lines come back from those who read them while this rank waits for others;
    // else `posted` would wait for them there.
    if (in_room && bytes <= area_.room_bytes)
        volley::own(area_.room(static_cast<std::uint64_t>(communicator_.rank()), number_ + 1), bytes);
}

void Meeting::wait_for_post(int rank) {
    std::atomic<std::uint64_t> &posted = slot(rank).posted;
    engine.wait_until([&] { return posted.load(std::memory_order_acquire) == number_ + 1; },
                      about_meeting(number_, communicator_.peer_world_rank(rank)));
}

void Meeting::wait_for_posts() {
    int rank = 0;
    auto all_posted = [&] {
        for (; rank < communicator_.size(); ++rank)
            if (rank != communicator_.rank() && slot(rank).posted.load(std::memory_order_acquire) != number_ + 1)
                return false;
        return true;
    };
    engine.wait_until(all_posted, about_meeting(number_, -1));
}

void Meeting::conclude() {
    area_.concluded.store(number_ + 1, std::memory_order_release);
    wake_others();
}

void Meeting::wait_concluded(std::uint64_t meetings) {
    engine.wait_until([&] { return area_.concluded.load(std::memory_order_acquire) >= meetings; },
                      about_meeting(meetings - 1, -1));
}

void Meeting::wait_entered(std::uint64_t meeting) {
    CollectiveArea::Entered *entered = area_.entered();
    std::uint64_t all;
    auto have_entered = [&] {
        all = number_;
        for (int rank = 0; rank < communicator_.size(); ++rank)
            if (rank != communicator_.rank())
                all = std::min(all, entered[rank].meeting.load(std::memory_order_acquire));
        return all >= meeting;
    };
    engine.wait_until(have_entered, about_meeting(meeting, -1));
    communicator_.entered_by_all = all;
}

void Meeting::tell_entered() {
    area_.entered()[communicator_.rank()].meeting.store(number_, std::memory_order_release);
    communicator_.entered_told = number_;
    wake_others();
}

} // namespace volley
