// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/channels.h"

#include "transport/memory.h"
#include "transport/node.h"

#include <algorithm>
#include <bit>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace volley {
namespace {

/// With at most so many ranks, the pages of a ring are made all at once. Pages that are made one by one as messages
/// come each delay a message, and cost three times as much or more (on a virtual machine 2.2 us a page at once, 8 to 30
/// one by one). But with many ranks most of a ring is never used.
constexpr int few_ranks = 8;

/// So much of a ring of bytes stays in both cores' first-level caches, and goes from one to the other (Zen 4, half a
/// ping-pong of 1 KiB: 0.24 us all over 64 KiB, 0.17 in these). Other processors have not been measured.
constexpr std::uint32_t span_limit_where_lines_migrate = 8192;

/// A ring may begin after 0 to 15 lines of its first page.
constexpr std::size_t ring_places = 16;

/// Makes pages present. This is a hint: kernels before 5.14 refuse it.
void make_pages(void *start, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    std::uintptr_t first = reinterpret_cast<std::uintptr_t>(start) / page * page;
    std::uintptr_t last = reinterpret_cast<std::uintptr_t>(start) + bytes;
    madvise(reinterpret_cast<void *>(first), last - first, MADV_POPULATE_WRITE);
#endif
}

} // namespace

void Channels::prepare() {
    place_ = processes[node.rank].place;
    ranks_ = static_cast<int>(node.arena->ranks);
    inbox_ = node.inbox(place_);
    // A ring has 64 KiB of payload for a few ranks (a larger ring leaves the caches before it comes round), and 4 KiB
    // for hundreds. Once all pairs have talked, 64 ranks take 47 MiB together, and 256 ranks 513 MiB.
    auto crowd = std::bit_ceil(static_cast<std::uint32_t>(std::max(ranks_, 4)));
    bytes_ = std::clamp(524288u / crowd, 4096u, 65536u);
    if (auto limit = node.settings.eager_limit) bytes_ = std::max(bytes_, std::bit_ceil(4 * *limit));
    slots_ = std::clamp(1024u / crowd, 16u, 128u);
    if (lines_migrate) beside_ = std::min<std::uint32_t>(reclaimed_later, slots_ / 4 * cache_line);
    senders_.clear();
    active_.clear();
    inactive_.clear();
    next_inactive_ = next_deactivated_ = 0;
    discovered_.assign(static_cast<std::size_t>(ranks_), false);
    known_ = 0;
    make_room();
}

void Channels::make_room() {
    senders_.resize(static_cast<std::size_t>(processes.size()));
}

bool Channels::make(ProcessIndex process) {
    const auto &[name, number, place, record, transport] = processes[process];
    if (transport != Transport::shm || node.has_failed(process)) return false;
    // Blocks begin at pages, so rings that are polled in turn would all lie in the same few lines of a cache.
    auto shift = static_cast<std::size_t>(place_ + place) % ring_places * cache_line;
    auto *block = static_cast<char *>(arena_allocate(shift + RingHead::footprint(slots_, bytes_, beside_)));
    if (!block) return false;
    auto *ring = reinterpret_cast<RingHead *>(block + shift);
    ring->construct(slots_, bytes_, beside_, lines_migrate ? span_limit_where_lines_migrate : bytes_);
    make_pages_of(ring);
    bool readable = place == place_ || node.may_dereference(process);
    RingSender &sender = senders_[static_cast<std::size_t>(process)];
    sender = RingSender(ring, node.settings.eager_limit_to(readable), node.has_own_core());
    if (readable && place != place_ && node.has_own_core() && !node.settings.eager_limit) sender.try_in_place();
    if (place != place_ && node.has_own_core()) sender.pipeline_up_to(node.settings.pipeline_limit_to(readable));
    Inbox *inbox = node.inbox(place);
    inbox->ring(static_cast<std::size_t>(place_)).store(arena_offset(ring), std::memory_order_release);
    inbox->rings.fetch_add(1, std::memory_order_release);
    return true;
}

void Channels::make_pages_of(RingHead *ring) const {
    if (ranks_ <= few_ranks) make_pages(ring, ring->footprint());
}

void Channels::discover() {
    known_ = inbox_->rings.load(std::memory_order_acquire);
    for (int place = 0; place < ranks_; place++) {
        auto index = static_cast<std::size_t>(place);
        if (discovered_[index]) continue;
        std::uint64_t offset = inbox_->ring(index).load(std::memory_order_acquire);
        if (offset == 0) continue;
        discovered_[index] = true;
        auto *ring = arena_pointer<RingHead>(offset);
        ProcessIndex sender = processes.at_place(place);
        if (!node.may_dereference(sender)) make_pages_of(ring); // else the sender has made them for both
        Receiver receiver{RingReceiver(ring), sender};
        if (active_.size() < most_active) {
            active_.push_back(receiver);
        } else { // a ring is made for a message
            inactive_.push_back(receiver);
            activate(inactive_.size() - 1);
        }
    }
}

/// Makes an inactive ring active, and in turn an active one inactive.
void Channels::activate(std::size_t inactive) {
    Receiver &replaced = active_[next_deactivated_];
    next_deactivated_ = (next_deactivated_ + 1) % most_active;
    replaced.ring.reclaim_room();
    std::swap(replaced, inactive_[inactive]);
}

} // namespace volley
