// SPDX-License-Identifier: BSD-3-Clause
/// Messages under way from and to this rank: the sends it has begun, and what arrives. The engine's progress and
/// the functions of point_to_point.h meet here.
#pragma once

#include "core/matching.h"
#include "core/point_to_point.h"
#include "transport/shm/channels.h"
#include "transport/shm/heap.h"
#include "transport/shm/rendezvous.h"
#include "transport/tcp/tcp.h"

#include <vector>

namespace volley {

/// Copies the bytes [from, to) of a message. A buffer without a plan is one block of memory.
void copy_piece(const TypedBuffer &source, const TypedBuffer &destination, Count from, Count to);

/// The data a rendezvous announces.
inline TypedBuffer source_of(const Rendezvous &rendezvous) {
    return {reinterpret_cast<const DatatypePlan *>(rendezvous.plan), reinterpret_cast<void *>(rendezvous.address),
            rendezvous.count};
}

/// A send that is under way. Lives on the stack of a blocking call or in a request.
struct Send {
    TypedBuffer buffer;
    Count bytes;
    char *contiguous; ///< where the data begins if it is one block of memory, else nullptr
    int world_rank;   ///< of the receiver
    MessageEnvelope envelope;
    SendMode mode;
    bool waits; ///< in a blocking call: it can help to copy
    bool done = false;
    bool cancelled = false;
    bool queued = false; ///< waits for room in the ring
    int error = MPI_SUCCESS;
    Rendezvous *rendezvous = nullptr;
    std::uint64_t tcp_number = 0;       ///< if it was announced by TCP, else 0
    Request *request = nullptr;         ///< to be completed; nullptr for a blocking call
    void *block = nullptr;              ///< of the arena, with the data of a synchronous send, or a piece of it
    Count piece = 0;                    ///< if it goes in pieces: how large that block is
    int looks = 0;                      ///< how often its waiting call has looked in vain
    int most_looks = 0;                 ///< then it goes on without the receiver
    Links<Send> queue = {};             ///< of sends to the same rank that wait for room
    Links<Send> outstanding_links = {}; ///< of sends whose rendezvous is not done
};

/// A message that another transport than memory brings.
struct Arrival {
    std::uint32_t context;
    int source, tag;
    int world_source; ///< the sender's rank in the job
    Count bytes;
    unsigned char *payload; ///< nullptr if it is announced
    std::uint64_t number;   ///< the transport's, of one that is announced
};

class Messages {
  public:
    void prepare();

    /// Puts a small message of one block into the ring at once. False if that is not possible now.
    bool send_at_once(const void *data, Count bytes, int world_rank, const MessageEnvelope &envelope);

    void start(Send &send);
    /// The call that started it waits for it and for nothing else: it helps to copy, and takes the message away
    /// into the arena if the receiver is late.
    void attend(Send &send);
    /// True if the message will not be received.
    bool cancel(Send &send);

    /// Serves the receive with a message that has come, or posts it.
    void start(Receive &receive, MatchQueues &queues);
    /// Gives a message taken out of the queues to a receive; destroys the message.
    void serve(Receive &receive, Unexpected &message);
    bool cancel(Receive &receive, MatchQueues &queues);

    /// The first message that matches, or nullptr.
    Unexpected *find(MatchQueues &queues, int source, int tag);

    /// One round of everything.
    bool progress();

    /// No send waits for room in a ring: all are on their way.
    bool all_placed() const {
        return queued_ranks_.empty() && tcp.all_written();
    }
    /// No other rank is to read this one's buffers any more. What lies in the arena stays there.
    bool all_delivered() const {
        return all_placed() && !polled_.first() && !notifying_.first() && tcp.all_delivered();
    }

    /// Drops a message nobody will receive.
    void discard(Unexpected &message);

    // For transports.
    /// Gives the message to its receive. If there is none yet, it is kept, and returned.
    Unexpected *arrive(const Arrival &arrival);
    void finish(Send &send);
    void finish(Receive &receive);

    Channels channels;

  private:
    struct Fetch {
        Receive *receive;
        Rendezvous *rendezvous;
    };

    bool place(Send &send);
    bool must_go_through_arena(const Send &send) const;
    bool pipelines(const Send &send);
    bool describe(Send &send);
    bool request_to_send(Send &send);
    bool drain_queues();
    bool check(Send &send);
    bool provide(Send &send);
    bool begin_pieces(Send &send);
    void next_piece(Send &send);
    void end_pieces(Send &send);
    void refuse(Send &send);
    void copy_to_arena(Send &send, void *block, RendezvousState then);
    void *allocate_block(const Send &send);
    void outstanding(Send &send);
    void no_longer_outstanding(Send &send);
    void keep_buffered(Rendezvous &rendezvous, void *block);
    void collect_buffered();
    void collect(Rendezvous &rendezvous);
    bool heed_attention();
    void take_back(const Rendezvous &rendezvous, void *block);
    void keep_block(Rendezvous &rendezvous);

    Channels::Handled arrive(int sender, RingReceiver &ring, Slot *slot, bool may_leave);
    static Count accept(Receive &receive, int source, int tag, Count bytes);
    void deliver(Receive &receive, int source, int tag, unsigned char *payload, Count bytes);
    /// False if the message was cancelled: the receive is still to be served.
    bool deliver(Receive &receive, int source, int tag, Rendezvous &rendezvous);
    void follow(Rendezvous &rendezvous, const Receive &receive, Count bytes);
    bool read_process(const Rendezvous &rendezvous, const Receive &receive, Count from, Count to);
    bool read_together(Rendezvous &rendezvous, const Receive &receive, Count bytes);
    void help_process(Rendezvous &rendezvous, int world_rank);
    bool continue_fetches();
    static void hand_over(Rendezvous &rendezvous, RendezvousState state);
    static void release(Rendezvous &rendezvous);

    /// How fast messages are that are copied twice, through a ring or through the arena.
    LinePace &pace_of(Count bytes);
    bool may_judge(const Rendezvous &rendezvous);

    bool take_piece(Rendezvous &rendezvous, const Receive &receive);

    Rendezvous *allocate_rendezvous();

    LinePace ring_pace_{50}, pipeline_pace_{67};
    RingSender *last_used_ = nullptr;               ///< for an eager message, until all is prepared for the next
    std::vector<Chain<Send, &Send::queue>> queues_; ///< by the receiver's rank
    std::vector<int> queued_ranks_;                 ///< ranks whose chain is not empty
    // Sends whose rendezvous are not done. Those that notify (transport/shm/rendezvous.h) are not looked at until told.
    Chain<Send, &Send::outstanding_links> polled_, notifying_;
    std::size_t looked_at_ = 0; ///< rendezvous in polled_ and buffered_
    std::vector<Rendezvous *> free_rendezvous_;
    /// Their messages lie in the arena or are cancelled; the receiver has not come yet. Without those that notify.
    std::vector<Rendezvous *> buffered_;
    std::vector<Fetch> fetches_; ///< wait for their sender to provide the data
    ArenaHeap heap_;
    /// For messages that go in pieces, where no other block is left: it is one's at a time.
    static constexpr Count reserve_bytes = 4096;
    void *reserved_ = nullptr;
    void *reserve_ = nullptr;      ///< nullptr while a message has it
    std::vector<int> blocks_kept_; ///< of those that came from a rank, less those of this one's that it has kept
    // What the kernel has said when other processes' memory was to be read or written.
    bool cma_refused_ = false;
    bool cma_granted_ = false;
    bool write_refused_ = false;
};

extern Messages messages;

// Messages a matched probe took out of the queues (`communicator` set): received, and destroyed with that.
Request *start_matched_receive(const Data &data, Unexpected &message);
int receive_matched(const Data &data, Unexpected &message, Completion &completion);

/// The first message that matches; it stays in the queues.
Unexpected *find_message(const Address &from, Completion &completion);

} // namespace volley
