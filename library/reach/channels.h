// SPDX-License-Identifier: BSD-3-Clause
/// The rings from and to this rank, made on first use.
#pragma once

#include "core/job_shared.h"
#include "reach/ring.h"

#include <cstdint>
#include <vector>

namespace volley {

class Channels {
  public:
    /// Ring sizes follow from the number of ranks on the host: all pairs may come to talk.
    void prepare(JobShared &job, int rank, int ranks);

    /// The ring to a rank of this host. Ends the job with a message if the arena is used up.
    RingSender &to(int world_rank) {
        RingSender &sender = senders_[static_cast<std::size_t>(world_rank)];
        if (!sender.exists()) [[unlikely]]
            make(world_rank);
        return sender;
    }

    /// Calls `handle(sender's rank in the job, receiver, slot)` for messages that have arrived, which releases the
    /// slot; at most a few of each ring, so that none starves. True if there were any.
    template <class Handle> bool poll(Handle &&handle) {
        if (inbox_->rings.load(std::memory_order_acquire) != known_) [[unlikely]]
            discover();
        bool any = false;
        for (std::size_t i = 0; i < receivers_.size(); i++) {
            for (int messages = 0; messages < at_once; messages++) {
                // `handle` may lead to new rings: no references across it.
                const Slot *slot = receivers_[i].ring.front();
                if (!slot) break;
                any = true;
                handle(receivers_[i].sender, receivers_[i].ring, slot);
            }
        }
        return any;
    }

  private:
    static constexpr int at_once = 16;

    struct Receiver {
        RingReceiver ring;
        int sender;
    };

    void make(int world_rank);
    void discover();

    JobShared *job_ = nullptr;
    Inbox *inbox_ = nullptr;
    int rank_ = 0;
    int ranks_ = 0;
    std::uint32_t slots_ = 0, bytes_ = 0;
    std::uint32_t known_ = 0;
    std::vector<RingSender> senders_;
    std::vector<Receiver> receivers_;
    std::vector<bool> discovered_;
};

} // namespace volley
