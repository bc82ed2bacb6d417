// SPDX-License-Identifier: BSD-3-Clause
/// For tests in a lone rank (core/test_ranks.h): what a peer does in memory to send this rank messages.
#pragma once

#include "core/contexts.h"
#include "transport/memory.h"
#include "transport/node.h"
#include "transport/shm/ring.h"

#include <gtest/gtest.h>

namespace volley {

/// A peer's half of its ring to this rank.
class SendingPeer {
  public:
    explicit SendingPeer(int rank) : rank_(rank) {
        auto *ring = static_cast<RingHead *>(arena_allocate(RingHead::footprint(slots, bytes, 0)));
        ring->construct(slots, bytes);
        sender_ = RingSender(ring);
        Inbox *inbox = node.inbox(node.place());
        inbox->ring(static_cast<std::size_t>(processes[rank].place)).store(arena_offset(ring));
        inbox->rings++;
    }
    /// Sends its next number, with tag 0 in MPI_COMM_WORLD; false if there is no room.
    bool send_number() {
        if (!sender_.send_eager({.tag = 0, .context = world_context, .source = rank_}, &sent, sizeof sent))
            return false;
        sent++;
        return true;
    }
    RingSender &ring() {
        return sender_;
    }

    int sent = 0;

  private:
    static constexpr std::uint32_t slots = 64, bytes = 4096;

    int rank_;
    RingSender sender_;
};

} // namespace volley
