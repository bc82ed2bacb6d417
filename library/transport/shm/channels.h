// SPDX-License-Identifier: BSD-3-Clause
/// The rings to and from this rank. The sender makes a ring on first use.
#pragma once

#include "transport/message.h"
#include "transport/node_shared.h"
#include "transport/process.h"
#include "transport/shm/ring.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace volley {

class Channels {
  public:
    /// Called once the table of processes is filled. Ring sizes depend on the number of ranks on the host, since all
    /// pairs may come to talk.
    void prepare();
    /// Makes room for processes that have been added to the table.
    void make_room();

    /// Makes the ring to a process, if there is none yet. False if the arena is used up, if another transport
    /// carries messages to that process, or if that has failed.
    bool reach(ProcessIndex process) {
        return senders_[static_cast<std::size_t>(process)].exists() || make(process);
    }
    /// Precondition: reach() has made it.
    RingSender &to(ProcessIndex process) {
        return senders_[static_cast<std::size_t>(process)];
    }

    /// The process has failed: there is no ring to it any more.
    void forget(ProcessIndex process) {
        senders_[static_cast<std::size_t>(process)] = RingSender();
    }

    /// The ring to a process, or nullptr if none has been made.
    RingSender *known_to(ProcessIndex process) {
        RingSender &sender = senders_[static_cast<std::size_t>(process)];
        return sender.exists() ? &sender : nullptr;
    }

    /// Cache lines of rings that this rank has filled for others.
    std::uint64_t lines_sent() const {
        std::uint64_t lines = 0;
        for (const RingSender &sender : senders_) lines += sender.filled();
        return lines;
    }

    /// What became of a message that has arrived.
    enum class Handled : std::uint8_t {
        received, ///< a receive has taken it
        kept,     ///< no receive is posted for it yet; it was copied, and its slot is free
        left,     ///< no receive is posted for it yet; it stays in the ring
    };

    /// Calls `handle(sender, receiver, slot, may_leave)` for messages that have arrived, at most a few of each ring, so
    /// that none starves. `handle` releases the slot. True if there were any messages.
    ///
    /// may_leave: the ring has just yielded a message that a receive waited for, so the caller will likely return. A
    /// message behind it had better wait in the ring for the next receive: keeping it would copy it twice.
    template <class Handle> bool poll(Look look, Handle &&handle) {
        if (inbox_->rings.load(std::memory_order_acquire) != known_) [[unlikely]]
            discover();
        bool any = false;
        for (std::size_t i = 0; i < active_.size(); i++) any |= take(active_, i, handle);
        if (!inactive_.empty()) [[unlikely]]
            any |= poll_inactive(look, handle);
        if (!any)
            for (Receiver &receiver : active_) receiver.ring.reclaim_room();
        return any;
    }

  private:
    static constexpr int at_once = 16;
    /// So many rings are looked at in every round. A look in vain takes some 2 ns (Zen 4), a round of a rank that spins
    /// some 40.
    static constexpr std::size_t most_active = 8;
    /// Of the others, so many are looked at in a round that is soon followed by another.
    static constexpr std::size_t inactive_at_once = 4;

    struct Receiver {
        RingReceiver ring;
        ProcessIndex sender;
    };

    /// Handles what has arrived in one ring; true if anything has.
    template <class Handle>
    [[gnu::always_inline]] bool take(std::vector<Receiver> &receivers, std::size_t i, Handle &&handle) {
        bool any = false, received = false;
        for (int messages = 0; messages < at_once; messages++) {
            // `handle` may lead to new rings: no references across it.
            Slot *slot = receivers[i].ring.front();
            if (!slot) break;
            Handled handled = handle(receivers[i].sender, receivers[i].ring, slot, received);
            if (handled == Handled::left) break;
            received |= handled == Handled::received;
            any = true;
        }
        return any;
    }

    /// Looks at inactive rings in turn. Those with messages become active.
    template <class Handle> [[gnu::noinline]] bool poll_inactive(Look look, Handle &&handle) {
        bool any = false;
        std::size_t looks = look == Look::everywhere ? inactive_.size() : std::min(inactive_.size(), inactive_at_once);
        for (; looks > 0; looks--) {
            std::size_t i = next_inactive_;
            next_inactive_ = i + 1 < inactive_.size() ? i + 1 : 0;
            if (!take(inactive_, i, handle)) continue;
            any = true;
            activate(i);
        }
        return any;
    }

    bool make(ProcessIndex process);
    void make_pages_of(RingHead *ring) const;
    void discover();
    void activate(std::size_t inactive);

    Inbox *inbox_ = nullptr;
    std::int32_t place_ = 0;
    int ranks_ = 0; ///< on the node
    std::uint32_t slots_ = 0, bytes_ = 0, beside_ = 0;
    std::uint32_t known_ = 0;
    std::vector<RingSender> senders_; ///< by process
    /// Rings to this rank: the last few in which messages have come, and all others.
    std::vector<Receiver> active_, inactive_;
    std::size_t next_inactive_ = 0;    ///< to be looked at
    std::size_t next_deactivated_ = 0; ///< index in active_
    std::vector<bool> discovered_;     ///< by place
};

} // namespace volley
