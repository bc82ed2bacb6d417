// SPDX-License-Identifier: BSD-3-Clause
/// The sending half of SharedMemory.
#include "transport/memory.h"
#include "transport/shm/shared_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/uio.h>
#include <utility>

namespace volley {
namespace {

/// How often a waiting sender polls for its receiver before it copies the message into the arena and goes on: for some
/// 20 microseconds where it has a core of its own; after two turns of the others where it has not.
constexpr int looks_when_alone = 400;
constexpr int looks_when_oversubscribed = 2;
/// If the receiver comes later than this (some 2 microseconds), the ring would have been better, since there the sender
/// does not wait. A sender whose receiver was late the last time waits no longer than this, either.
constexpr int looks_when_quick = 24;
/// Larger messages wait for their receiver: copying them twice costs more than the delay of most receivers.
constexpr Count largest_buffered = 1 << 20;
/// How much one sender may leave in the arena for late receivers.
constexpr std::size_t most_buffered = 64 << 20;

/// A pipelining sender copies so many bytes into the arena before it tells the receiver, which follows.
constexpr Count pipelined_at_once = 8192;

/// Messages above the first size leave so much of their block unused, or a fourth of their length.
constexpr std::size_t most_in_full_block = 8192, least_spare_bytes = 4096;

/// A sender polls at most so many rendezvous in each round of progress. Polling one costs a cache line. So does being
/// notified of one, which also costs the receiver an atomic operation.
constexpr std::size_t most_looked_at = 16;

/// Copies what it can of a shared rendezvous. The receiver says when the last chunk has arrived.
void help(Rendezvous &rendezvous) {
    TypedBuffer to{reinterpret_cast<const DatatypePlan *>(rendezvous.to_plan),
                   reinterpret_cast<void *>(rendezvous.to_address), rendezvous.to_count};
    Count mine = rendezvous.copy_chunks(rendezvous.to_bytes, chunk_of(rendezvous.to_bytes),
                                        [&, from = source_of(rendezvous)](Count begin, Count end) {
                                            copy_piece(from, to, begin, end);
                                            return true;
                                        });
    rendezvous.copied.fetch_add(mine, std::memory_order_release);
}

/// The size of the block for a message. Blocks lie side by side, and the two ranks write to neighbours while they
/// exchange messages. A long message does not reach to the next block: reading one to its end then made writing the
/// other slow (MPI_Sendrecv, 2 processes of a Zen 5, 16 KiB in a block of 16 KiB 2.0 us, of 32 KiB 1.4; 28 KiB in 32
/// KiB 2.4, in 64 KiB 1.8; most likely processors fetch lines ahead beyond the block's end).
std::size_t block_bytes_for(const Send &send) {
    const auto bytes = static_cast<std::size_t>(send.bytes);
    return bytes > most_in_full_block ? bytes + std::max(bytes / 4, least_spare_bytes) : bytes;
}

} // namespace

bool SharedMemory::send_at_once(const void *data, Count bytes, ProcessIndex process, const MessageEnvelope &envelope) {
    if (queues_[static_cast<std::size_t>(process)].first()) [[unlikely]]
        return false;
    if (!channels.reach(process)) [[unlikely]]
        return false;
    RingSender &ring = channels.to(process);
    auto size = static_cast<std::size_t>(bytes);
    if (!ring.takes(size) || !ring.send_eager(envelope, data, size)) [[unlikely]]
        return false;
    node.wake_rank(process);
    last_used_ = &ring;
    return true;
}

void SharedMemory::start(Send &send) {
    auto &queue = queues_[static_cast<std::size_t>(send.receiver)];
    if (!queue.first()) {
        if (place(send)) return;
        queued_.push_back(send.receiver);
    }
    send.queued = true;
    queue.append(send);
}

/// False if the ring is full.
bool SharedMemory::place(Send &send) {
    if (!channels.reach(send.receiver)) [[unlikely]] {
        start_elsewhere(send);
        return true;
    }
    RingSender &ring = channels.to(send.receiver);
    auto size = static_cast<std::size_t>(send.bytes);
    if (send.mode == SendMode::synchronous || !ring.takes(size)) return request_to_send(send);
    bool placed = send.contiguous ? ring.send_eager(send.envelope, send.contiguous, size)
                                  : ring.send_eager_filled(send.envelope, size, [&](unsigned char *place) {
                                        pack(send.buffer, 0, send.bytes, place);
                                    });
    if (!placed) return false;
    last_used_ = &ring;
    node.wake_rank(send.receiver);
    sent(send);
    return true;
}

/// Whether the message must be copied into the arena: a receiver in another process cannot follow a plan, and may not
/// be allowed to read this process at all. A larger message streams once the receiver is there.
bool SharedMemory::must_go_through_arena(const Send &send) const {
    if (send.receiver == node.rank || node.may_dereference(send.receiver) || send.bytes > largest_buffered)
        return false;
    Inbox *inbox = node.inbox(processes[send.receiver].place);
    return !send.contiguous || inbox->refuses_cma.load(std::memory_order_relaxed) != 0;
}

/// Whether this rank may leave more in the arena for late receivers.
bool SharedMemory::may_leave_more() {
    if (heap_.in_use() > most_buffered) collect_buffered();
    return heap_.in_use() <= most_buffered;
}

/// Whether the message, though it need not, is to go through the arena: if each rank has a core, two copies of which
/// one follows the other may be quicker than one.
bool SharedMemory::pipelines(const Send &send) {
    return send.mode != SendMode::synchronous &&
           channels.to(send.receiver).pipelines(static_cast<std::size_t>(send.bytes)) && may_leave_more();
}

/// Fills in the rendezvous of the message. False if the arena is used up.
bool SharedMemory::describe(Send &send) {
    Rendezvous *rendezvous = send.rendezvous = allocate_rendezvous();
    if (!rendezvous) return false;
    rendezvous->sender = node.place();
    rendezvous->receiver = send.receiver;
    rendezvous->owner = reinterpret_cast<std::uint64_t>(&send);
    rendezvous->is_buffered = 0;
    rendezvous->bytes = send.bytes;
    rendezvous->waits = send.waits;
    rendezvous->address = reinterpret_cast<std::uint64_t>(send.contiguous ? send.contiguous : send.buffer.address);
    rendezvous->plan = send.contiguous ? 0 : reinterpret_cast<std::uint64_t>(send.buffer.plan);
    rendezvous->count = send.buffer.count;
    rendezvous->claimed.store(0, std::memory_order_relaxed);
    rendezvous->copied.store(0, std::memory_order_relaxed);
    rendezvous->pipelined.store(0, std::memory_order_relaxed);
    rendezvous->quick = 0;
    rendezvous->kept = 0;
    return true;
}

/// False if the ring is full.
bool SharedMemory::request_to_send(Send &send) {
    RingSender &ring = channels.to(send.receiver);
    // If the arena has no block, the request to send goes out all the same; a receiver that cannot read the data where
    // it is says so. The block is allocated before the request: this yields the last block that this rank has kept,
    // rather than one that its receiver has just finished with.
    void *block = must_go_through_arena(send) || pipelines(send) ? allocate_block(send) : nullptr;
    if (!send.rendezvous && !describe(send)) {
        if (block) heap_.release(block, block_bytes_for(send));
        refuse_send(send);
        return true;
    }
    bool moves = block != nullptr;
    bool is_tried = !moves && send.mode != SendMode::synchronous;
    send.rendezvous->watched = is_tried && ring.is_watched(static_cast<std::size_t>(send.bytes));
    // A blocking call may be asked to help with the copying, so it polls.
    send.rendezvous->notifies = !send.waits && looked_at_ >= most_looked_at;
    // Stored before the request is visible, so that a quick receiver does not claim what it cannot read.
    send.rendezvous->state.store(moves ? RendezvousState::pipelining : RendezvousState::open,
                                 std::memory_order_relaxed);
    if (!ring.send_request(send.envelope, send.contiguous, static_cast<std::size_t>(send.bytes),
                           arena_offset(send.rendezvous))) {
        if (block) heap_.release(block, block_bytes_for(send));
        return false;
    }
    ring.has_pipelined(moves);
    outstanding(send);
    node.wake_rank(send.receiver);
    if (moves) copy_to_arena(send, block);
    return true;
}

/// A block of the arena for the message's data; nullptr if the arena is used up.
void *SharedMemory::allocate_block(const Send &send) {
    const std::size_t bytes = block_bytes_for(send);
    void *block = heap_.allocate(bytes);
    if (block || buffered_.empty()) return block;
    collect_buffered();
    return heap_.allocate(bytes);
}

/// Copies the message into that block of the arena, and completes the send. The receiver follows.
void SharedMemory::copy_to_arena(Send &send, void *block) {
    Rendezvous &rendezvous = *send.rendezvous;
    TypedBuffer source = source_of(rendezvous);
    rendezvous.block = reinterpret_cast<std::uint64_t>(block);
    rendezvous.block_bytes = static_cast<std::uint32_t>(block_bytes_for(send));
    for (Count from = 0, piece = 2048; from < send.bytes; piece = std::min(2 * piece, pipelined_at_once)) {
        Count to = std::min(from + piece, send.bytes);
        copy_piece(source, {nullptr, block, 0}, from, to);
        if (to < send.bytes) rendezvous.pipelined.store(to, std::memory_order_release);
        from = to;
    }
    rendezvous.state.store(RendezvousState::buffered, std::memory_order_release);
    node.wake_rank(send.receiver);
    if (send.mode == SendMode::synchronous) {
        // The data is in the arena, but the receive may not have begun: the send lives on until the rendezvous is done.
        send.block = block;
        return;
    }
    no_longer_outstanding(send);
    keep_buffered(rendezvous, block);
    sent(send);
}

void SharedMemory::outstanding(Send &send) {
    if (send.rendezvous->notifies) return notifying_.append(send);
    polled_.append(send);
    looked_at_++;
}

void SharedMemory::no_longer_outstanding(Send &send) {
    if (send.rendezvous->notifies) return notifying_.remove(send);
    polled_.remove(send);
    looked_at_--;
}

/// Keeps the rendezvous of a send that is complete, until the rendezvous is done. `block` is nullptr if the send was
/// cancelled.
void SharedMemory::keep_buffered(Rendezvous &rendezvous, void *block) {
    rendezvous.is_buffered = 1;
    rendezvous.owner = reinterpret_cast<std::uint64_t>(block);
    if (rendezvous.notifies) return;
    buffered_.push_back(&rendezvous);
    looked_at_++;
}

void SharedMemory::attend(Send &send) {
    if (send.queued || !send.rendezvous || send.done) return;
    if (send.rendezvous->state.load(std::memory_order_relaxed) != RendezvousState::open) return; // the receiver is here
    RingSender &ring = channels.to(send.receiver);
    if (send.looks++ == 0)
        send.most_looks = node.oversubscribed()  ? looks_when_oversubscribed
                          : ring.expects_delay() ? looks_when_quick
                                                 : looks_when_alone;
    if (send.looks != send.most_looks) return;
    if (send.mode == SendMode::synchronous || send.bytes > largest_buffered || !may_leave_more()) return;
    void *block = allocate_block(send);
    if (!block) return;
    if (!send.rendezvous->claim(RendezvousState::pipelining)) return heap_.release(block, block_bytes_for(send));
    ring.late(static_cast<std::size_t>(send.bytes));
    copy_to_arena(send, block);
}

/// Progresses one send by rendezvous; true if anything moved.
bool SharedMemory::check(Send &send) {
    Rendezvous &rendezvous = *send.rendezvous;
    switch (rendezvous.state.load(std::memory_order_acquire)) {
    case RendezvousState::done:
        no_longer_outstanding(send);
        if (!send.block) channels.to(send.receiver).in_time();
        if (rendezvous.watched)
            channels.to(send.receiver).learn(rendezvous.quick != 0 && send.looks <= looks_when_quick);
        free_rendezvous_.push_back(&rendezvous);
        if (send.block) take_back(rendezvous, send.block);
        sent(send);
        return true;
    case RendezvousState::shared:
        help(rendezvous);
        return false;
    case RendezvousState::wanted:
        return begin_stream(send);
    case RendezvousState::streaming:
        return stream(send);
    default:
        return false;
    }
}

/// The receiver is there, and wants the message to stream through a block of the arena. False if no block is left, not
/// even the reserve: then another message of this rank has it, and the end of that message wakes this rank.
bool SharedMemory::begin_stream(Send &send) {
    collect_buffered();
    auto size = static_cast<std::size_t>(std::min(send.bytes, stream_block_bytes));
    void *block = heap_.allocate(size);
    while (!block && size / 2 >= reserve_bytes) block = heap_.allocate(size /= 2);
    if (!block) {
        block = std::exchange(reserve_, nullptr);
        size = reserve_bytes;
    }
    if (!block) return false;
    Rendezvous &rendezvous = *send.rendezvous;
    rendezvous.block = reinterpret_cast<std::uint64_t>(block);
    rendezvous.block_bytes = static_cast<std::uint32_t>(size);
    if (!rendezvous.move(RendezvousState::wanted, RendezvousState::streaming)) {
        take_back(rendezvous, block); // the receiver reads it after all
        return false;
    }
    send.block = block;
    channels.to(send.receiver).in_time(); // the receiver has come
    return stream(send);
}

/// Fills the block as far as the receiver has emptied it. The send is complete once its last byte is in the block.
bool SharedMemory::stream(Send &send) {
    Rendezvous &rendezvous = *send.rendezvous;
    Count from = rendezvous.pipelined.load(std::memory_order_relaxed);
    Count room = rendezvous.copied.load(std::memory_order_acquire) + rendezvous.block_bytes;
    Count end = std::min({room, send.bytes, from + streamed_per_look});
    if (from == end) return false;
    for (Count to; from < end; from = to) {
        to = end_in_block(rendezvous, from, end);
        copy_piece(source_of(rendezvous), {nullptr, place_in_block(rendezvous, from) - from, 0}, from, to);
        rendezvous.pipelined.store(to, std::memory_order_release);
        node.wake_rank(send.receiver);
    }
    if (from < send.bytes || !rendezvous.move(RendezvousState::streaming, RendezvousState::buffered)) return true;
    no_longer_outstanding(send);
    keep_buffered(rendezvous, send.block);
    sent(send);
    return true;
}

bool SharedMemory::cancel(Send &send) {
    if (send.done) return false;
    if (send.queued) {
        auto &queue = queues_[static_cast<std::size_t>(send.receiver)];
        queue.remove(send);
        if (!queue.first()) std::erase(queued_, send.receiver);
        send.queued = false;
        if (send.rendezvous) free_rendezvous_.push_back(send.rendezvous);
    } else {
        if (!send.rendezvous || !send.rendezvous->claim(RendezvousState::cancelled)) return false;
        no_longer_outstanding(send);
        keep_buffered(*send.rendezvous, nullptr);
    }
    send.cancelled = true;
    sent(send);
    return true;
}

bool SharedMemory::drain_queues() {
    bool moved = false;
    for (std::size_t i = 0; i < queued_.size();) {
        auto &queue = queues_[static_cast<std::size_t>(queued_[i])];
        while (Send *send = queue.first()) {
            // The send leaves the chain first: placing it may complete it, and its request with it.
            queue.remove(*send);
            send->queued = false;
            if (!place(*send)) {
                send->queued = true;
                queue.prepend(*send);
                break;
            }
            moved = true;
        }
        if (queue.first()) {
            i++;
        } else {
            queued_[i] = queued_.back();
            queued_.pop_back();
        }
    }
    return moved;
}

/// Releases the block of a rendezvous that is done, unless its receiver keeps it.
void SharedMemory::take_back(const Rendezvous &rendezvous, void *block) {
    auto bytes = static_cast<std::size_t>(rendezvous.block_bytes);
    if (block == reserved_) {
        reserve_ = reserved_;
        return;
    }
    if (rendezvous.kept == 0) return heap_.release(block, bytes);
    heap_.forget(bytes);
    blocks_kept_[static_cast<std::size_t>(rendezvous.receiver)]--;
}

void SharedMemory::collect_buffered() {
    looked_at_ -= std::erase_if(buffered_, [&](Rendezvous *rendezvous) {
        if (rendezvous->state.load(std::memory_order_acquire) != RendezvousState::done) return false;
        collect(*rendezvous);
        return true;
    });
}

/// Recycles a buffered rendezvous that is done.
void SharedMemory::collect(Rendezvous &rendezvous) {
    if (rendezvous.owner) take_back(rendezvous, reinterpret_cast<void *>(rendezvous.owner));
    free_rendezvous_.push_back(&rendezvous);
}

/// Progresses the rendezvous that receivers have pushed on the attention list; true if there were any.
bool SharedMemory::heed_attention() {
    if (attention_->load(std::memory_order_relaxed) == 0) [[likely]]
        return false;
    std::uint64_t at = attention_->exchange(0, std::memory_order_acquire);
    while (at != 0) {
        auto *rendezvous = arena_pointer<Rendezvous>(at);
        at = rendezvous->next_with_attention; // before the rendezvous is given out again
        if (rendezvous->is_buffered) {
            collect(*rendezvous);
            continue;
        }
        Send &send = *reinterpret_cast<Send *>(rendezvous->owner);
        if (rendezvous->state.load(std::memory_order_relaxed) == RendezvousState::wanted) {
            // Streaming takes several steps, and the receiver waits for this side: the send is polled from now on.
            notifying_.remove(send);
            rendezvous->notifies = 0;
            outstanding(send);
        }
        check(send);
    }
    return true;
}

/// nullptr if the arena is used up.
Rendezvous *SharedMemory::allocate_rendezvous() {
    if (!buffered_.empty()) collect_buffered();
    if (free_rendezvous_.empty()) {
        constexpr std::size_t at_once = 32;
        auto *made = static_cast<Rendezvous *>(arena_allocate(at_once * sizeof(Rendezvous)));
        if (!made) return nullptr;
        for (std::size_t i = 0; i < at_once; i++) free_rendezvous_.push_back(made + i);
    }
    Rendezvous *rendezvous = free_rendezvous_.back();
    free_rendezvous_.pop_back();
    return rendezvous;
}

} // namespace volley
