// SPDX-License-Identifier: BSD-3-Clause
/// Messages between ranks of one node, over the arena: small ones through a ring (ring.h), others by rendezvous
/// (rendezvous.h). send.cpp has the sending half, receive.cpp the receiving one.
#pragma once

#include "transport/message.h"
#include "transport/node.h"
#include "transport/shm/channels.h"
#include "transport/shm/heap.h"
#include "transport/shm/rendezvous.h"

#include <vector>

namespace volley {

/// The data a rendezvous announces.
inline TypedBuffer source_of(const Rendezvous &rendezvous) {
    return {reinterpret_cast<const DatatypePlan *>(rendezvous.plan), reinterpret_cast<void *>(rendezvous.address),
            rendezvous.count};
}

/// While streaming: where byte `from` of the message lies in the block.
inline char *place_in_block(const Rendezvous &rendezvous, Count from) {
    return reinterpret_cast<char *>(rendezvous.block) + from % rendezvous.block_bytes;
}
/// How far one side copies at once from there, up to `end`: not beyond the block's end.
inline Count end_in_block(const Rendezvous &rendezvous, Count from, Count end) {
    return std::min({end, from + streamed_at_once, from - from % rendezvous.block_bytes + rendezvous.block_bytes});
}

class SharedMemory {
  public:
    void prepare();
    /// For processes that have been entered in the table.
    void make_room();

    /// Puts a small message of one block into the ring at once. False if that is not possible now.
    bool send_at_once(const void *data, Count bytes, ProcessIndex process, const MessageEnvelope &envelope);

    void start(Send &send);
    /// The call that started it waits for it and for nothing else: it helps to copy, and takes the message away
    /// into the arena if the receiver is late.
    void attend(Send &send);
    /// True if the message will not be received.
    bool cancel(Send &send);

    /// Brings the data of an announced message, now or later. False if it was cancelled: the receive is still to be
    /// served.
    bool fetch(Receive &receive, int source, int tag, Rendezvous &rendezvous);
    /// Copies a message that was kept until its receive came.
    void deliver(Receive &receive, int source, int tag, unsigned char *payload, Count bytes);
    /// Nobody will receive it; or all has been done for it.
    static void release(Rendezvous &rendezvous);

    /// One round of everything. True if anything moved.
    bool progress();

    /// No send waits for room in a ring: all are on their way.
    bool all_placed() const {
        return queued_.empty();
    }
    /// No other rank is to read this one's buffers any more. What lies in the arena stays there.
    bool all_delivered() const {
        return all_placed() && !polled_.first() && !notifying_.first();
    }

    Channels channels;

  private:
    struct Fetch {
        Receive *receive;
        Rendezvous *rendezvous;
        std::uint64_t moved_at; ///< clock_ns(): when some of it came, or it was asked for
        bool may_read;          ///< the rest may be asked of the kernel
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
    void follow(Rendezvous &rendezvous, const Receive &receive, Count bytes);
    bool read_process(const Rendezvous &rendezvous, const Receive &receive, Count from);

    bool continue_fetches();
    static void hand_over(Rendezvous &rendezvous, RendezvousState state);

    /// How fast messages are that are copied twice, through a ring or through the arena.
    LinePace &pace_of(Count bytes);
    bool may_judge(const Rendezvous &rendezvous);

    bool read_rest(Rendezvous &rendezvous, const Receive &receive);
    static bool take_from_stream(Rendezvous &rendezvous, const Receive &receive);

    Rendezvous *allocate_rendezvous();

    LinePace ring_pace_{50}, pipeline_pace_{67};
    RingSender *last_used_ = nullptr;               ///< for an eager message, until all is prepared for the next
    std::vector<Chain<Send, &Send::queue>> queues_; ///< by the receiver
    std::vector<ProcessIndex> queued_;              ///< receivers whose chain is not empty
    // Sends whose rendezvous are not done. Those that notify (transport/shm/rendezvous.h) are not looked at until told.
    Chain<Send, &Send::outstanding_links> polled_, notifying_;
    std::atomic<std::uint64_t> *attention_ = nullptr; ///< Inbox::attention, looked at in each round
    std::size_t looked_at_ = 0;                       ///< rendezvous in polled_ and buffered_
    std::vector<Rendezvous *> free_rendezvous_;
    /// Their messages lie in the arena or are cancelled; the receiver has not come yet. Without those that notify.
    std::vector<Rendezvous *> buffered_;
    std::vector<Fetch> fetches_; ///< that their sender brings, block by block
    ArenaHeap heap_;
    /// For a message that streams, where no other block is left: it is one's at a time.
    static constexpr Count reserve_bytes = 4096;
    void *reserved_ = nullptr;
    void *reserve_ = nullptr;      ///< nullptr while a message has it
    std::vector<int> blocks_kept_; ///< of those that came from a process, less those of this one's that it has kept
    // What the kernel has said when other processes' memory was to be read or written.
    bool cma_refused_ = false;
};

extern SharedMemory shared_memory;

} // namespace volley
