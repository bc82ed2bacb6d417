// SPDX-License-Identifier: BSD-3-Clause
/// Messages between ranks of one node, through the arena. Small messages go through a ring (ring.h), others by
/// rendezvous (rendezvous.h). send.cpp has the sending half, receive.cpp the receiving half.
#pragma once

#include "transport/message.h"
#include "transport/node.h"
#include "transport/shm/channels.h"
#include "transport/shm/heap.h"
#include "transport/shm/rendezvous.h"

#include <functional>
#include <vector>

namespace volley {

/// The data of a rendezvous, in the sender's memory.
inline TypedBuffer source_of(const Rendezvous &rendezvous) {
    return {reinterpret_cast<const DatatypePlan *>(rendezvous.plan), reinterpret_cast<void *>(rendezvous.address),
            rendezvous.count};
}

/// While streaming: where byte `from` of the message lies in the block.
inline char *place_in_block(const Rendezvous &rendezvous, Count from) {
    return reinterpret_cast<char *>(rendezvous.block) + from % rendezvous.block_bytes;
}
/// How far one side copies at once from byte `from`: up to `end`, but not beyond the end of the block.
inline Count end_in_block(const Rendezvous &rendezvous, Count from, Count end) {
    return std::min({end, from + streamed_at_once, from - from % rendezvous.block_bytes + rendezvous.block_bytes});
}

class SharedMemory {
  public:
    void prepare();
    /// Makes room for processes that have been added to the table.
    void make_room();

    /// Puts a small contiguous message into the ring at once. False if that is not possible now.
    bool send_at_once(const void *data, Count bytes, ProcessIndex process, const MessageEnvelope &envelope);

    void start(Send &send);
    /// For a blocking call that waits for this send and nothing else. If the receiver is late, it copies the message
    /// into the arena and completes the send.
    void attend(Send &send);
    /// True if the message will not be received.
    bool cancel(Send &send);

    /// Receives the data of a rendezvous, now or later. False if the sender has cancelled it: the receive is then still
    /// to be matched.
    bool fetch(Receive &receive, int source, int tag, Rendezvous &rendezvous);
    /// Copies a whole message, from the ring or from where it was kept until its receive came.
    void deliver(Receive &receive, int source, int tag, unsigned char *payload, Count bytes);
    /// Marks a rendezvous as done: its message has been received, or will never be.
    static void release(Rendezvous &rendezvous);

    /// One round of everything. True if anything moved.
    bool progress(Look look);

    // For jobs that outlive processes that fail (failure.cpp).
    /// The process has failed: from now on sends to it are refused.
    void forget(ProcessIndex process);
    /// Ends sends that will not be received, which `is_over` tells; `code_of` gives their error codes. A send that a
    /// living receiver has begun to receive goes on. True if any has ended.
    bool end_sends(const std::function<bool(const Send &)> &is_over, const std::function<int(const Send &)> &code_of);
    /// Ends receives whose data was to come from a process that has failed. True if any has ended.
    bool end_fetches();

    /// No send waits for room in a ring.
    bool all_placed() const {
        return queued_.empty();
    }
    /// No other rank has yet to read this rank's buffers. Messages that lie in the arena stay there.
    bool all_delivered() const {
        return all_placed() && !polled_.first() && !notifying_.first();
    }

    Channels channels;

  private:
    struct Fetch {
        Receive *receive;
        Rendezvous *rendezvous;
        std::uint64_t moved_at; ///< clock_ns() when data last came, or when it was asked for
        bool may_read;          ///< the kernel may be asked to read the rest
    };

    bool place(Send &send);
    bool must_go_through_arena(const Send &send) const;
    bool may_leave_more();
    bool pipelines(const Send &send);
    bool describe(Send &send);
    bool request_to_send(Send &send);
    bool drain_queues();
    bool check(Send &send);
    bool begin_stream(Send &send);
    bool stream(Send &send);
    void copy_to_arena(Send &send, void *block);
    void *allocate_block(const Send &send);
    void outstanding(Send &send);
    void no_longer_outstanding(Send &send);
    void keep_buffered(Rendezvous &rendezvous, void *block);
    void collect_buffered();
    void collect(Rendezvous &rendezvous);
    bool heed_attention();
    void take_back(const Rendezvous &rendezvous, void *block);
    void keep_block(Rendezvous &rendezvous);

    Channels::Handled arrive(ProcessIndex sender, RingReceiver &ring, Slot *slot, bool may_leave);
    void follow(Rendezvous &rendezvous, Receive &receive, Count bytes);
    bool take_back(Send &send);
    bool read_process(const Rendezvous &rendezvous, const Receive &receive, Count from);

    bool continue_fetches();
    static void hand_over(Rendezvous &rendezvous, RendezvousState state);

    /// How fast messages of this size are that are copied twice, through a ring or through the arena.
    LinePace &pace_of(Count bytes);
    bool may_judge(const Rendezvous &rendezvous);

    bool read_rest(Rendezvous &rendezvous, const Receive &receive);
    static bool take_from_stream(Rendezvous &rendezvous, const Receive &receive);

    Rendezvous *allocate_rendezvous();

    LinePace ring_pace_{50}, pipeline_pace_{67};
    RingSender *last_used_ = nullptr; ///< by an eager message; nullptr once all is prepared for the next one
    std::vector<Chain<Send, &Send::queue>> queues_; ///< indexed by receiver
    std::vector<ProcessIndex> queued_;              ///< receivers whose chain is not empty
    // Sends whose rendezvous are not done. Those in notifying_ (transport/shm/rendezvous.h) are not polled.
    Chain<Send, &Send::outstanding_links> polled_, notifying_;
    std::atomic<std::uint64_t> *attention_ = nullptr; ///< Inbox::attention, polled in each round
    std::size_t looked_at_ = 0;                       ///< rendezvous in polled_ and buffered_
    std::vector<Rendezvous *> free_rendezvous_;
    /// Rendezvous whose messages lie in the arena or are cancelled, and whose receivers have not come yet. Those that
    /// notify are not here.
    std::vector<Rendezvous *> buffered_;
    std::vector<Fetch> fetches_; ///< whose senders stream the data
    ArenaHeap heap_;
    /// The block for a message that streams when the arena has no other left. One message has it at a time.
    static constexpr Count reserve_bytes = 4096;
    void *reserved_ = nullptr;
    void *reserve_ = nullptr;      ///< reserved_, or nullptr while a message has it
    std::vector<int> blocks_kept_; ///< by process: blocks kept from it, less blocks of this rank that it has kept
    // The kernel has refused to read other processes' memory.
    bool cma_refused_ = false;
};

extern SharedMemory shared_memory;

} // namespace volley
