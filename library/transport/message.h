// SPDX-License-Identifier: BSD-3-Clause
/// The interface between matching, above, and the transports, below.
///
/// A transport carries the bytes of a Send to the receiving process, and reports there to matching what arrives.
/// Matching knows which Receive takes a message, but not how the message came. Both sides call plain functions.
/// Transports call up through the functions declared in this file (core/messages.cpp defines them). Each transport
/// offers the following, with the parameters it needs to find a message of its own again:
///
///     start(Send &)              begins it; sent() when the caller may use the buffer again
///     cancel(Send &)             takes it back, if its receive has not begun
///     fetch(Receive &, ...)      brings the data of a message that was only announced; received() when it is there
///     release(...), drop(...)    an announced message that nobody will receive
///     progress(Look)             one round; true if anything moved
///     all_placed() or all_written(), all_delivered()
///                                for the end: nothing waits to be sent; nothing waits to be received
///
/// Shared memory is tried first, since its path must have no extra cost: a send that finds no ring to its receiver is
/// handed on (start_elsewhere). Shared memory also sends small messages at once, and helps a call that waits for one
/// send (attend).
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

/// How far a round of progress looks for what has arrived.
enum class Look : std::uint8_t {
    /// Where something has arrived lately, and at some of the rest in turn: for a rank that spins, which looks again
    /// within some 50 ns.
    active,
    /// Wherever anything may have arrived: before the rank sleeps, lets others have its core, or returns.
    everywhere,
};

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

    // For transport/tcp.
    std::uint64_t tcp_number = 0; ///< if it was announced, else 0

    // For transport/shm.
    Rendezvous *rendezvous = nullptr;
    void *block = nullptr;              ///< of the arena, with the data of a synchronous send
    int looks = 0;                      ///< how often its waiting call has polled in vain
    int most_looks = 0;                 ///< after so many looks the call goes on without the receiver
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
    std::uint64_t order = 0;     ///< in which it was posted, among the receives of its context
    Links<Receive> chained = {}; ///< to those of its group of sources, or from any source
    Links<Receive> same = {};    ///< to those with equal source and tag, in the index

    TypedBuffer destination() const {
        return contiguous ? TypedBuffer{nullptr, contiguous, 0} : buffer;
    }
};

/// Where the data of an unexpected message is.
struct Kept {
    unsigned char *payload = nullptr; ///< malloc'ed copy of an eager message; nullptr if empty
    Rendezvous *rendezvous = nullptr; ///< of a message that transport/shm announced
    bool by_tcp = false;              ///< transport/tcp is told when it is received or dropped
    std::uint64_t tcp_number = 0;     ///< of a message that transport/tcp announced, else 0

    bool is_at_sender() const {
        return rendezvous != nullptr || tcp_number != 0;
    }
};

/// An unexpected message: it has arrived before its receive. Its payload has been copied, or is still at the sender.
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

    /// The sender has cancelled it.
    bool is_cancelled() const;
};

/// A message that a transport reports to matching.
struct Arrival {
    ProcessIndex sender;
    MessageEnvelope envelope;
    Count bytes;
};

// What transports call.

/// Finds the posted receive that takes this message, and removes it from the queue; nullptr if there is none.
Receive *match(const Arrival &arrival);
/// Puts back a receive that match() returned for a message, since the sender has cancelled that message. Nothing may
/// have been matched since.
void match_again(Receive &receive, std::uint32_t context);
/// Memory for the payload of a message that no receive takes yet; nullptr if the message has no payload. If there is no
/// memory, the job ends.
unsigned char *allocate_payload(Count bytes);
/// Keeps a message that no receive takes, until one does or it is dropped.
Unexpected &keep_unexpected(const Arrival &arrival, const Kept &kept);
/// Drops a message that was kept.
void drop_unexpected(Unexpected &message);
/// Hands a send on to another transport: this transport cannot reach the receiver, or has no more memory for it.
void start_elsewhere(Send &send);
/// Completes the request of a receive or a send that is done.
void complete_request(const Receive &receive);
void complete_request(const Send &send);
/// So many members of a communicator, whose context this node has drawn, have left it on another node. False if that
/// cannot be.
bool members_departed(std::uint32_t context, std::uint64_t members);
/// The name of a communicator's context if its members are of several jobs, else 0 (core/contexts.h); and the number
/// of the context with that name on this node, 0 if none is left.
std::uint64_t name_of_context(std::uint32_t context);
std::uint32_t context_of_name(std::uint64_t name);
/// Records in the receive's completion that `bytes` are more than its buffer holds.
[[gnu::cold]] void truncated(Receive &receive, Count bytes);
/// Records in `send.error` that there was no memory for the send, or that its receiver has failed, and completes it.
void refuse_send(Send &send);
/// Records in the receive's completion that the sender of its message has failed before all of it was here.
[[gnu::cold]] void lost(Receive &receive, ProcessIndex sender);
/// The same if the sender has given it up, as the communicator with that context was revoked or has lost a member.
[[gnu::cold]] void given_up(Receive &receive, std::uint32_t context);

/// Records in the receive's completion what the message is. Returns how many of its bytes fit.
inline Count accept(Receive &receive, int source, int tag, Count bytes) {
    receive.completion.source = source;
    receive.completion.tag = tag;
    if (bytes > receive.capacity) [[unlikely]] {
        truncated(receive, bytes);
        bytes = receive.capacity;
    }
    return receive.completion.bytes = bytes;
}
/// Completes a receive all of whose data is there.
inline void received(Receive &receive) {
    receive.done = true;
    if (receive.request) complete_request(receive);
}
/// Completes a send: the caller's buffer is free again, or the send was cancelled, or `send.error` says why it failed.
inline void sent(Send &send) {
    send.done = true;
    if (send.request) complete_request(send);
}

/// Copies the bytes [from, to) of a message. A buffer without a plan is one block of memory.
void copy_piece(const TypedBuffer &source, const TypedBuffer &destination, Count from, Count to);

} // namespace volley
