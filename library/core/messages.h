// SPDX-License-Identifier: BSD-3-Clause
/// Messages from and to this rank: matching meets the transports here (transport/message.h).
#pragma once

#include "core/matching.h"
#include "core/point_to_point.h"
#include "transport/shm/shared_memory.h"
#include "transport/tcp/tcp.h"

namespace volley {

/// Sends go to shared memory first, which hands on those that it cannot deliver (start_elsewhere).
class Messages {
  public:
    /// Called once the process has its place on its node.
    void prepare() {
        shared_memory.prepare();
    }

    /// Sends a small contiguous message at once. False if that is not possible now.
    bool send_at_once(const void *data, Count bytes, ProcessIndex process, const MessageEnvelope &envelope) {
        return shared_memory.send_at_once(data, bytes, process, envelope);
    }
    void start(Send &send) {
        shared_memory.start(send);
    }
    /// Called again and again while the call that started the send waits for it and for nothing else.
    void attend(Send &send) {
        shared_memory.attend(send);
    }
    /// True if the message will not be received. Over TCP the send completes, one way or the other, with its receiver's
    /// answer.
    bool cancel(Send &send) {
        if (send.tcp_number == 0) return shared_memory.cancel(send);
        tcp.cancel(send);
        return false; // not known yet
    }

    /// Serves the receive with a message that has arrived, or posts it.
    void start(Receive &receive, MatchQueues &queues);
    /// Gives a message that was taken out of the queues to a receive, and destroys the message. If its sender has
    /// cancelled it, `cancelled` is set in the receive's completion.
    void serve(Receive &receive, Unexpected &message);
    bool cancel(Receive &receive, MatchQueues &queues);

    /// The first message that matches, or nullptr.
    Unexpected *find(MatchQueues &queues, int source, int tag);
    /// For a matched probe: from now on the sender cannot cancel the message. False if the sender has just cancelled
    /// it.
    bool reserve(Unexpected &message);
    /// Drops a message that nobody will receive.
    void discard(Unexpected &message);

    /// Tells a process of another node that so many members of a communicator, whose context that node has drawn, have
    /// left it.
    void tell_departed(ProcessIndex process, std::uint32_t context, int members) {
        tcp.tell_departed(process, context, members);
    }

    /// Called once the table of processes has grown.
    void make_room() {
        shared_memory.make_room();
    }
    /// No group has this process of another job any more: the connections to it end once nothing is under way.
    void part(ProcessIndex process) {
        tcp.part(process);
    }

    /// One round of all transports. True if anything moved.
    bool progress(Look look) {
        bool moved = shared_memory.progress(look);
        if (tcp.enabled()) [[unlikely]] {
            moved |= tcp.progress(look);
            if (fabric.enabled()) moved |= fabric.progress();
        }
        return moved;
    }

    /// Whether all sends are on their way.
    bool all_placed() const {
        return shared_memory.all_placed() && tcp.all_written();
    }
    /// Whether no other rank needs to read this rank's buffers any more.
    bool all_delivered() const {
        return shared_memory.all_delivered() && tcp.all_delivered();
    }
};

extern Messages messages;

// Receive a message that a matched probe took out of the queues (its `communicator` is set), and destroy it.
Request *start_matched_receive(const Data &data, Unexpected &message);
int receive_matched(const Data &data, Unexpected &message, Completion &completion);

/// The first message that matches; it stays in the queues.
Unexpected *find_message(const Address &from, Completion &completion);

} // namespace volley
