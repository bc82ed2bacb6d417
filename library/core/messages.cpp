// SPDX-License-Identifier: BSD-3-Clause
#include "core/messages.h"

#include "core/error.h"
#include "core/failures.h"
#include "core/object.h"
#include "core/request.h"
#include "core/tool_events.h"
#include "transport/abort.h"

#include <cstdlib>
#include <cstring>

namespace volley {

Messages messages;

namespace {

Pool<Unexpected> &unexpected_pool() {
    static auto *pool = new Pool<Unexpected>; // outlives static destructors
    return *pool;
}

} // namespace

void Messages::start(Receive &receive, MatchQueues &queues) {
    while (Unexpected *message = find(queues, receive.source, receive.tag)) {
        queues.remove(*message);
        serve(receive, *message);
        if (!receive.completion.cancelled) return;
        receive.completion = {};
    }
    queues.post(receive);
}

void Messages::serve(Receive &receive, Unexpected &message) {
    if (message.tcp_number != 0) {
        Count wanted = accept(receive, message.source, message.tag, message.bytes);
        tcp.fetch(receive, message.sender, message.tcp_number, wanted);
    } else if (message.rendezvous) {
        if (!shared_memory.fetch(receive, message.source, message.tag, *message.rendezvous))
            receive.completion.cancelled = true;
    } else {
        shared_memory.deliver(receive, message.source, message.tag, message.payload, message.bytes);
        std::free(message.payload);
        if (message.by_tcp) tcp.received(message.sender, message.bytes);
    }
    unexpected_pool().destroy(&message);
}

bool Messages::cancel(Receive &receive, MatchQueues &queues) {
    if (!receive.posted) return false;
    queues.unpost(receive);
    receive.completion.cancelled = true;
    received(receive);
    return true;
}

Unexpected *Messages::find(MatchQueues &queues, int source, int tag) {
    for (;;) {
        Unexpected *message = queues.find(source, tag);
        if (!message || !message->is_cancelled()) return message;
        queues.remove(*message);
        discard(*message);
    }
}

bool Messages::reserve(Unexpected &message) {
    if (message.rendezvous) message.rendezvous->claim(RendezvousState::taken);
    return !message.is_cancelled();
}

void Messages::discard(Unexpected &message) {
    if (message.rendezvous) SharedMemory::release(*message.rendezvous);
    if (message.tcp_number != 0)
        tcp.drop(message.sender, message.tcp_number);
    else if (message.by_tcp)
        tcp.received(message.sender, message.bytes);
    std::free(message.payload);
    unexpected_pool().destroy(&message);
}

bool Unexpected::is_cancelled() const {
    return rendezvous && rendezvous->state.load(std::memory_order_acquire) == RendezvousState::cancelled;
}

// The functions that transports call (transport/message.h).

unsigned char *allocate_payload(Count bytes) {
    if (bytes == 0) return nullptr;
    auto *payload = static_cast<unsigned char *>(std::malloc(static_cast<std::size_t>(bytes)));
    if (!payload) abort_job_for("no memory for a message that came before its receive");
    return payload;
}

Unexpected &keep_unexpected(const Arrival &arrival, const Kept &kept) {
    Unexpected *message = unexpected_pool().make();
    static_cast<Kept &>(*message) = kept;
    message->source = arrival.envelope.source;
    message->sender = arrival.sender;
    message->tag = arrival.envelope.tag;
    message->bytes = arrival.bytes;
    queues_of_context(arrival.envelope.context).add(*message);
    if (tool_events && traffic_of(arrival.envelope.context) == Traffic::program) [[unlikely]]
        tool_events->unexpected_message(processes.rank_in_job(arrival.sender), message->tag, message->bytes);
    return *message;
}

void drop_unexpected(Unexpected &message) {
    message.queues->remove(message);
    messages.discard(message);
}

void start_elsewhere(Send &send) {
    if (processes[send.receiver].transport == Transport::tcp && !node.has_failed(send.receiver))
        tcp.start(send);
    else
        refuse_send(send);
}

void match_again(Receive &receive, std::uint32_t context) {
    queues_of_context(context).post_again(receive);
}

void complete_request(const Receive &receive) {
    receive.request->completion = receive.completion;
    receive.request->complete();
}

void complete_request(const Send &send) {
    send.request->completion.error = send.error;
    send.request->completion.cancelled = send.cancelled;
    send.request->complete();
}

void truncated(Receive &receive, Count bytes) {
    receive.completion.error =
        fail(MPI_ERR_TRUNCATE, "the message from rank %d with tag %d has %lld bytes, the receive buffer %lld",
             receive.completion.source, receive.completion.tag, static_cast<long long>(bytes),
             static_cast<long long>(receive.capacity));
}

void lost(Receive &receive, ProcessIndex sender) {
    receive.completion.error = failures.code_of(sender);
}

void given_up(Receive &receive, std::uint32_t context) {
    const Communicator *lost = failures.lost_with(context);
    receive.completion.error =
        lost != nullptr ? failures.code_of(*lost)
                        : fail(MPIX_ERR_REVOKED, "the sender has given the message up, as it cannot use the "
                                                 "communicator any more: MPIX_Comm_shrink makes one that can be used");
}

void refuse_send(Send &send) {
    if (node.has_failed(send.receiver)) {
        send.error = failures.code_of(send.receiver);
        return sent(send);
    }
    send.error = fail(MPI_ERR_NO_MEM,
                      "the memory ranks share is used up: there is no room to send a message of %lld "
                      "bytes to rank %d of MPI_COMM_WORLD",
                      static_cast<long long>(send.bytes), processes.rank_in_job(send.receiver));
    sent(send);
}

void copy_piece(const TypedBuffer &source, const TypedBuffer &destination, Count from, Count to) {
    // With a plan an address may be MPI_BOTTOM: nothing is added to it.
    if (source.plan && destination.plan)
        copy_between(source, destination, from, to);
    else if (source.plan)
        pack(source, from, to, static_cast<char *>(destination.address) + from);
    else if (destination.plan)
        unpack(destination, from, to, static_cast<const char *>(source.address) + from);
    else
        copy_memory(static_cast<char *>(destination.address) + from, static_cast<const char *>(source.address) + from,
                    static_cast<std::size_t>(to - from));
}

} // namespace volley
