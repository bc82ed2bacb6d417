// SPDX-License-Identifier: BSD-3-Clause
/// The seam between matching, above, and transports, below.
///
/// A transport brings the bytes of a Send to the process it goes to, and tells matching there of what arrives. Matching
/// knows which Receive takes it, and does not know how it came. Both sides call plain functions: the ones declared in
/// this file are what transports call above themselves (core/messages.cpp defines them). What a transport offers, each
/// with what it needs to find a message of its own again:
///
///     start(Send &)              begins it; sent() when the caller may use the buffer again
///     cancel(Send &)             takes it back, if its receive has not begun
///     fetch(Receive &, ...)      brings the data of a message that was only announced; received() when it is there
///     release(...), drop(...)    an announced message that nobody will receive
///     progress()                 one round; true if anything moved
///     all_placed() or all_written(), all_delivered()
///                                for the end: nothing waits to be sent; nothing waits to be received
///
/// Shared memory comes first, since its way must cost nothing more: a send that finds no ring to its receiver is handed
/// on (start_elsewhere). It also sends small messages at once, and helps a call that waits for one send (attend).
#pragma once

#include "layout/copy.h"
#include "transport/chain.h"
#include "transport/process.h"

#include <mpi.h>

#include <cstdint>

namespace volley {

class Communicator;
class Request;
struct MatchQueues;
struct Rendezvous;

/// What a message is, apart from its bytes.
struct MessageEnvelope {
    std::int32_t tag;
    std::uint32_t context;
    std::int32_t source; ///< the sender's rank in the communicator
};

enum class SendMode : std::uint8_t {
    standard,
    synchronous, ///< complete only once the receive has begun
    ready,       ///< like standard
};

/// What a finished operation says of its message.
struct Completion {
    int source = MPI_ANY_SOURCE;
    int tag = MPI_ANY_TAG;
    int error = MPI_SUCCESS; ///< a code of core/error.h
    bool cancelled = false;
    Count bytes = 0;
};

/// A send that is under way. Lives on the stack of a blocking call or in a request.
struct Send {
    TypedBuffer buffer;
    Count bytes;
    char *contiguous; ///< where the data begins if it is one block of memory, else nullptr
    ProcessIndex receiver;
    MessageEnvelope envelope;
    SendMode mode;
    bool waits; ///< in a blocking call: it can help to copy
    bool done = false;
    bool cancelled = false;
    bool queued = false; ///< waits for room in the ring
    int error = MPI_SUCCESS;
    Request *request = nullptr; ///< to be completed; nullptr for a blocking call

    // Of transport/tcp.
    std::uint64_t tcp_number = 0; ///< if it was announced, else 0

    // Of transport/shm.
    Rendezvous *rendezvous = nullptr;
    void *block = nullptr;              ///< of the arena, with the data of a synchronous send
    int looks = 0;                      ///< how often its waiting call has looked in vain
    int most_looks = 0;                 ///< then it goes on without the receiver
    Links<Send> queue = {};             ///< of sends to the same rank that wait for room
    Links<Send> outstanding_links = {}; ///< of sends whose rendezvous is not done
};

/// A receive that is posted, or being served. Lives on the stack of a blocking call or in a request.
struct Receive {
    int source; ///< rank of the peer in the communicator, or MPI_ANY_SOURCE
    int tag;    ///< or MPI_ANY_TAG
    TypedBuffer buffer;
    Count capacity;   ///< bytes of the buffer's data
    char *contiguous; ///< where the data begins if it is one block of memory, else nullptr
    Completion completion = {};
    Request *request = nullptr; ///< to be completed; nullptr for a blocking call
    bool posted = false;        ///< in the queues
    bool done = false;
    std::uint64_t order = 0;     ///< of being posted in this context
    Links<Receive> chained = {}; ///< to those of its group of sources, or from any source
    Links<Receive> same = {};    ///< to those with equal source and tag, in the index

    TypedBuffer destination() const {
        return contiguous ? TypedBuffer{nullptr, contiguous, 0} : buffer;
    }
};

/// Where the data of a message is that has arrived before its receive.
struct Kept {
    unsigned char *payload = nullptr; ///< malloc'ed copy of an eager message; nullptr if empty
    Rendezvous *rendezvous = nullptr; ///< of one that transport/shm announced
    bool by_tcp = false;              ///< transport/tcp is told when it is received or dropped
    std::uint64_t tcp_number = 0;     ///< of one that transport/tcp announced, else 0

    bool is_at_sender() const {
        return rendezvous != nullptr || tcp_number != 0;
    }
};

/// A message that has arrived before its receive. Its payload is a copy, or still at the sender.
struct Unexpected : Kept {
    int source;
    int tag;
    Count bytes;
    ProcessIndex sender = -1;
    int status_entry = -1;                         ///< core/introspection.h
    Links<Unexpected> all, chained;                ///< to all others, to those of its group of sources
    Links<Unexpected> same, same_source, same_tag; ///< in the indexes
    MatchQueues *queues;
    Communicator *communicator = nullptr; ///< of a matched probe: retained

    /// Its sender has taken it back.
    bool is_cancelled() const;
};

/// A message of which a transport learns: who sent it, to what.
struct Arrival {
    ProcessIndex sender;
    MessageEnvelope envelope;
    Count bytes;
};

// What transports call.

/// The posted receive that takes this message, no longer posted; nullptr if there is none.
Receive *match(const Arrival &arrival);
/// Puts a receive back that match() gave for a message that was taken back. Nothing may have been matched since.
void match_again(Receive &receive, std::uint32_t context);
/// Memory for the payload of a message that no receive takes: nullptr if it has none. Without memory the job ends.
unsigned char *allocate_payload(Count bytes);
/// Keeps a message that no receive takes, until one does or it is dropped.
Unexpected &keep_unexpected(const Arrival &arrival, const Kept &kept);
/// Drops it.
void drop_unexpected(Unexpected &message);
/// There is no way to that rank by this transport, or no more memory for it.
void start_elsewhere(Send &send);
/// Completes the request of a receive or a send that is done.
void complete_request(const Receive &receive);
void complete_request(const Send &send);
/// Says in the receive's completion that `bytes` are more than there is room for.
[[gnu::cold]] void truncated(Receive &receive, Count bytes);
/// Says in `send.error` that there was no memory for it, and completes it.
void refuse_send(Send &send);

/// Says in the receive's completion what the message is; how much of it fits is returned.
inline Count accept(Receive &receive, int source, int tag, Count bytes) {
    receive.completion.source = source;
    receive.completion.tag = tag;
    if (bytes > receive.capacity) [[unlikely]] {
        truncated(receive, bytes);
        bytes = receive.capacity;
    }
    return receive.completion.bytes = bytes;
}
/// All of a receive's data is there.
inline void received(Receive &receive) {
    receive.done = true;
    if (receive.request) complete_request(receive);
}
/// The caller's buffer is free again, or the send was cancelled, or `send.error` says why it could not be sent.
inline void sent(Send &send) {
    send.done = true;
    if (send.request) complete_request(send);
}

/// Copies the bytes [from, to) of a message. A buffer without a plan is one block of memory.
void copy_piece(const TypedBuffer &source, const TypedBuffer &destination, Count from, Count to);

} // namespace volley
