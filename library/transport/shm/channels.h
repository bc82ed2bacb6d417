// SPDX-License-Identifier: BSD-3-Clause
/// The rings from and to this rank, made on first use.
#pragma once

#include "transport/job_shared.h"
#include "transport/process.h"
#include "transport/shm/ring.h"

#include <cstdint>
#include <vector>

namespace volley {

class Channels {
  public:
    /// Once the table of processes is there. Ring sizes follow from the number of ranks on the host: all pairs may come
    /// to talk.
    void prepare();
    /// For processes that have been entered in the table.
    void make_room();

    /// Makes the ring to a process, if need be. False if the arena is used up, or another transport carries messages
    /// to that process.
    bool reach(ProcessIndex process) {
        return senders_[static_cast<std::size_t>(process)].exists() || make(process);
    }
    /// Precondition: reach() has made it.
    RingSender &to(ProcessIndex process) {
        return senders_[static_cast<std::size_t>(process)];
    }

    /// The same, or nullptr if none has been made.
    RingSender *known_to(ProcessIndex process) {
        RingSender &sender = senders_[static_cast<std::size_t>(process)];
        return sender.exists() ? &sender : nullptr;
    }

    /// What became of a message that has arrived.
    enum class Handled : std::uint8_t {
        received, ///< it was waited for
        kept,     ///< nobody waits for it yet; its slot is free
        left,     ///< the same, but it stays in the ring
    };

    /// Calls `handle(sender, receiver, slot, may_leave)` for messages that have arrived, which
    /// releases the slot; at most a few of each ring, so that none starves. True if there were any.
    ///
    /// may_leave: the ring has given something that was waited for. The caller will likely go on now, and what comes
    /// behind is better taken by the receive that is to follow than kept for it, which copies it twice.
    template <class Handle> bool poll(Handle &&handle) {
        if (inbox_->rings.load(std::memory_order_acquire) != known_) [[unlikely]]
            discover();
        bool any = false;
        for (std::size_t i = 0; i < receivers_.size(); i++) {
            bool received = false;
            for (int messages = 0; messages < at_once; messages++) {
                // `handle` may lead to new rings: no references across it.
                Slot *slot = receivers_[i].ring.front();
                if (!slot) break;
                Handled handled = handle(receivers_[i].sender, receivers_[i].ring, slot, received);
                if (handled == Handled::left) break;
                received |= handled == Handled::received;
                any = true;
            }
        }
        if (!any)
            for (Receiver &receiver : receivers_) receiver.ring.reclaim_room();
        return any;
    }

  private:
    static constexpr int at_once = 16;

    struct Receiver {
        RingReceiver ring;
        ProcessIndex sender;
    };

    bool make(ProcessIndex process);
    void make_pages_of(RingHead *ring) const;
    void discover();

    Inbox *inbox_ = nullptr;
    std::int32_t place_ = 0;
    int ranks_ = 0; ///< of the node
    std::uint32_t slots_ = 0, bytes_ = 0, beside_ = 0;
    std::uint32_t known_ = 0;
    std::vector<RingSender> senders_; ///< by process
    std::vector<Receiver> receivers_;
    std::vector<bool> discovered_; ///< by place
};

} // namespace volley
