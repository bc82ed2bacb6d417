// SPDX-License-Identifier: BSD-3-Clause
/// The receiving half of SharedMemory.
#include "boot/error.h"
#include "transport/memory.h"
#include "transport/shm/shared_memory.h"
#include "wait/clock.h"

#include <array>
#include <cerrno>
#include <sys/uio.h>

namespace volley {

SharedMemory shared_memory;

namespace {

/// Unexpected messages above this size are taken out of the ring and kept, though the next receive would take them: a
/// receiver so close behind the sender takes away the lines that the sender writes (blocking sends and receives in a
/// row, both with a core: kept, 128 / 384 / 512 / 1,024 bytes take 94 / 116 / 112 / 290 ns; left 53 / 116 / 133 / 320).
constexpr Count most_left_bytes = 384;

/// Copies out of a ring (`migrates` is lines_migrate) or a block of the arena (blocks_migrate), which the sender is to
/// write again.
void copy_and_hand_back(void *to, unsigned char *from, std::size_t size, bool migrates) {
    if (!migrates || size <= reclaimed_later)
        copy_memory(to, from, size);
    else
        copy_and_reclaim(to, from, size);
}

/// Copies bytes [from, to) of a message to where the receive wants them.
void copy_out(unsigned char *data, const Receive &receive, Count from, Count to, bool migrates) {
    auto size = static_cast<std::size_t>(to - from);
    if (receive.contiguous) {
        copy_and_hand_back(receive.contiguous + from, data, size, migrates);
    } else {
        unpack(receive.buffer, from, to, data);
        if (migrates && size > reclaimed_later) reclaim(data, size);
    }
}

ProcessIndex sender_of(const Rendezvous &rendezvous) {
    return processes.at_place(rendezvous.sender);
}

/// Gives the slot's room back, and wakes the sender if it may wait for room.
void give_back(ProcessIndex sender, RingReceiver &ring, Slot *slot) {
    if (ring.release(slot)) [[unlikely]]
        node.wake_rank(sender);
}

/// Whether a message of that size does not go through the ring, unless a setting says so.
bool is_pipelined(Count bytes) {
    return bytes > node.settings.eager_limit_to(true);
}

/// Tells the sender where the data goes. The sender helps to copy from here on, since it has nothing else to do.
void share(Rendezvous &rendezvous, const Receive &receive, Count bytes) {
    TypedBuffer destination = receive.destination();
    rendezvous.to_address = reinterpret_cast<std::uint64_t>(destination.address);
    rendezvous.to_plan = reinterpret_cast<std::uint64_t>(destination.plan);
    rendezvous.to_count = destination.count;
    rendezvous.to_bytes = bytes;
    rendezvous.state.store(RendezvousState::shared, std::memory_order_release);
    node.wake_rank(sender_of(rendezvous)); // a late receiver's sender may sleep by now
}

/// Both sides copy, chunk by chunk.
void copy_together(Rendezvous &rendezvous, const Receive &receive, Count bytes) {
    share(rendezvous, receive, bytes);
    Count mine = rendezvous.copy_chunks(
        bytes, chunk_of(bytes),
        [&, source = source_of(rendezvous), destination = receive.destination()](Count from, Count to) {
            copy_piece(source, destination, from, to);
            return true;
        });
    // `copied` counts what the sender has copied; this side has copied the rest.
    auto all_copied = [&] { return rendezvous.copied.load(std::memory_order_acquire) == bytes - mine; };
    Wait::briefly([&] { return all_copied() || node.has_failed(sender_of(rendezvous)); });
    // What a sender had in memory that this process may use outlives it.
    if (!all_copied()) copy_piece(source_of(rendezvous), receive.destination(), 0, bytes);
}

/// A receiver waits so long for a sender that is to stream a message before it asks the kernel to read the rest. A
/// sender that waits in MPI needs a few microseconds for each message it streams. The receiver still polls at that
/// time: it does not sleep yet (wait/sleep.cpp).
constexpr std::uint64_t patience_ns = 50'000;

} // namespace

Channels::Handled SharedMemory::arrive(ProcessIndex sender, RingReceiver &ring, Slot *slot, bool may_leave) {
    const Arrival arrival{.sender = sender,
                          .envelope = {.tag = slot->tag, .context = slot->context, .source = slot->source},
                          .bytes = static_cast<Count>(slot->bytes())};
    const auto [tag, context, source] = arrival.envelope;
    bool eager = slot->kind() != MessageKind::request;
    Rendezvous *rendezvous = eager ? nullptr : arena_pointer<Rendezvous>(slot->request.rendezvous);
    Receive *receive = match(arrival);
    if (receive) [[likely]] {
        if (eager) {
            auto take = [&, from = source, with = tag] {
                deliver(*receive, from, with, ring.payload(slot), arrival.bytes);
            };
            if (slot->bytes() > in_place_above_bytes && receive->contiguous && sender != node.rank)
                ring_pace_.watch(arrival.bytes, take);
            else
                take();
            give_back(sender, ring, slot);
            return Channels::Handled::received;
        }
        give_back(sender, ring, slot);
        if (!fetch(*receive, source, tag, *rendezvous)) match_again(*receive, context);
        return Channels::Handled::received;
    }
    if (may_leave && arrival.bytes <= most_left_bytes) return Channels::Handled::left;
    unsigned char *payload = eager ? allocate_payload(arrival.bytes) : nullptr;
    if (payload) copy_and_hand_back(payload, ring.payload(slot), slot->bytes(), lines_migrate);
    give_back(sender, ring, slot);
    keep_unexpected(arrival, {.payload = payload, .rendezvous = rendezvous});
    return Channels::Handled::kept;
}

/// Delivers a message that is in the ring, or was kept until its receive came.
void SharedMemory::deliver(Receive &receive, int source, int tag, unsigned char *payload, Count bytes) {
    bytes = accept(receive, source, tag, bytes);
    if (bytes > 0) // without data there is no address
        copy_out(payload, receive, 0, bytes, lines_migrate);
    received(receive);
}

bool SharedMemory::fetch(Receive &receive, int source, int tag, Rendezvous &rendezvous) {
    for (;;) {
        RendezvousState state = rendezvous.state.load(std::memory_order_acquire);
        if (state == RendezvousState::open && rendezvous.claim(RendezvousState::taken)) break;
        if (state == RendezvousState::taken) break; // a matched probe claimed it
        if (state == RendezvousState::cancelled) {
            release(rendezvous);
            return false;
        }
        if (state == RendezvousState::pipelining || state == RendezvousState::buffered) {
            Count bytes = accept(receive, source, tag, rendezvous.bytes);
            auto copy = [&] { follow(rendezvous, receive, bytes); };
            if (state == RendezvousState::pipelining && bytes > 0)
                pipeline_pace_.watch(bytes, copy);
            else
                copy();
            if (!node.has_failed(sender_of(rendezvous))) keep_block(rendezvous);
            release(rendezvous);
            received(receive);
            return true;
        }
    }
    Count bytes = accept(receive, source, tag, rendezvous.bytes);

    ProcessIndex sender = sender_of(rendezvous);
    bool readable = sender == node.rank || node.may_dereference(sender);
    bool together = rendezvous.waits && sender != node.rank && !node.oversubscribed();
    if (!readable && bytes > 0) {
        // Two copies by two cores, through lines that both have in their caches, take less time than one copy by the
        // kernel.
        bool may_stream = !node.oversubscribed() && rendezvous.notifies == 0;
        if (!may_stream && read_process(rendezvous, receive, 0)) {
            release(rendezvous);
            received(receive);
            return true;
        }
        fetches_.push_back({&receive, &rendezvous, clock_ns(), may_stream});
        hand_over(rendezvous, RendezvousState::wanted);
        return true;
    }
    if (readable && bytes > 0) {
        auto copy = [&] {
            if (together && bytes > shared_above_bytes)
                copy_together(rendezvous, receive, bytes);
            else
                copy_piece(source_of(rendezvous), receive.destination(), 0, bytes);
        };
        if (rendezvous.watched)
            rendezvous.quick = pace_of(bytes).is_quick(bytes, copy) && may_judge(rendezvous);
        else
            copy();
    }
    release(rendezvous);
    received(receive);
    return true;
}

/// Copies a message out of the arena, following its sender until all is here.
void SharedMemory::follow(Rendezvous &rendezvous, Receive &receive, Count bytes) {
    const ProcessIndex sender = sender_of(rendezvous);
    bool moving = true;
    for (Count from = 0, there; moving || from < bytes; from = there) {
        Wait::briefly([&] {
            moving = rendezvous.state.load(std::memory_order_acquire) == RendezvousState::pipelining;
            there = moving ? std::min(bytes, rendezvous.pipelined.load(std::memory_order_acquire)) : bytes;
            return !moving || there > from || node.has_failed(sender);
        });
        if (moving && there == from && from < bytes) [[unlikely]]
            return lost(receive, sender);
        auto *block = reinterpret_cast<unsigned char *>(rendezvous.block);
        if (there > from) copy_out(block + from, receive, from, there, blocks_migrate);
    }
}

/// Keeps the block of a message for what this rank sends next. Where lines migrate, the block's lines are now at this
/// rank's core, so writing to it need not wait for them, and they cross over once per message, not twice. Of two ranks,
/// neither has more than one surplus block of the other's.
void SharedMemory::keep_block(Rendezvous &rendezvous) {
    const std::size_t bytes = rendezvous.block_bytes;
    ProcessIndex sender = sender_of(rendezvous);
    if (!node.has_own_core() || bytes > ArenaHeap::keeps_pages || sender == node.rank) return;
    int &kept = blocks_kept_[static_cast<std::size_t>(sender)];
    if (kept > 0) { // the peer may have kept one meanwhile
        collect_buffered();
        heed_attention();
    }
    if (kept > 0) return;
    kept++;
    rendezvous.kept = 1;
    heap_.adopt(reinterpret_cast<void *>(rendezvous.block), bytes);
}

LinePace &SharedMemory::pace_of(Count bytes) {
    return is_pipelined(bytes) ? pipeline_pace_ : ring_pace_;
}

/// Whether the sender may judge by how quick it was to leave the message in its buffer.
bool SharedMemory::may_judge(const Rendezvous &rendezvous) {
    if (!is_pipelined(rendezvous.bytes)) return true;
    RingSender *back = channels.known_to(sender_of(rendezvous));
    return !back || back->join_trial();
}

/// Hands the rendezvous to its sender: it is done, or the receiver wants something of the sender.
void SharedMemory::hand_over(Rendezvous &rendezvous, RendezvousState state) {
    ProcessIndex sender = sender_of(rendezvous); // the sender may reuse the rendezvous once its state is stored
    if (rendezvous.notifies) {
        rendezvous.state.store(state, std::memory_order_relaxed);
        std::atomic<std::uint64_t> &first = node.inbox(processes[sender].place)->attention;
        std::uint64_t next = first.load(std::memory_order_relaxed), own_offset = arena_offset(&rendezvous);
        do rendezvous.next_with_attention = next;
        while (!first.compare_exchange_weak(next, own_offset, std::memory_order_release, std::memory_order_relaxed));
    } else {
        rendezvous.state.store(state, std::memory_order_release);
    }
    node.wake_rank(sender);
}

/// Hands the rendezvous back for good. The receiver must not touch it afterwards.
void SharedMemory::release(Rendezvous &rendezvous) {
    hand_over(rendezvous, RendezvousState::done);
}

/// Lets the kernel read the message out of the sender's memory, from byte `from` on. False if the sender's memory may
/// not be read, or if the data lies there by a plan, which means nothing in this process.
bool SharedMemory::read_process(const Rendezvous &rendezvous, const Receive &receive, Count from) {
    if (cma_refused_ || rendezvous.plan != 0) return false;
    pid_t pid = processes[sender_of(rendezvous)].record->program.load(std::memory_order_relaxed);
    Count bytes = receive.completion.bytes;
    for (Count done = from; done < bytes;) {
        std::array<iovec, 64> local;
        int pieces = 1;
        Count covered = bytes - done;
        if (receive.contiguous)
            local[0] = {receive.contiguous + done, static_cast<std::size_t>(covered)};
        else
            pieces = fill_segments(receive.buffer, done, bytes, local.data(), static_cast<int>(local.size()), covered);
        iovec remote{reinterpret_cast<char *>(rendezvous.address) + done, static_cast<std::size_t>(covered)};
        ssize_t got = process_vm_readv(pid, local.data(), static_cast<unsigned long>(pieces), &remote, 1, 0);
        if (got <= 0) {
            if (got < 0 && errno == EINTR) continue;
            // The kernel does not allow it (Yama, seccomp, containers), or cannot read this memory this way.
            if (errno == EPERM || errno == ENOSYS) {
                cma_refused_ = true;
                node.inbox(node.place())->refuses_cma.store(1, std::memory_order_relaxed);
            }
            return false;
        }
        done += got; // may be short at a page that faults; the rest is tried again
    }
    return true;
}

/// Copies out of the block as far as the sender has filled it; true if anything moved.
bool SharedMemory::take_from_stream(Rendezvous &rendezvous, const Receive &receive) {
    Count from = rendezvous.copied.load(std::memory_order_relaxed);
    Count there = std::min(
        {rendezvous.pipelined.load(std::memory_order_acquire), receive.completion.bytes, from + streamed_per_look});
    if (from >= there) return false;
    ProcessIndex sender = sender_of(rendezvous);
    for (Count to; from < there; from = to) {
        to = end_in_block(rendezvous, from, there);
        auto *data = reinterpret_cast<unsigned char *>(place_in_block(rendezvous, from));
        copy_out(data, receive, from, to, blocks_migrate);
        rendezvous.copied.store(to, std::memory_order_release);
        if (to < receive.completion.bytes) node.wake_rank(sender);
    }
    return true;
}

/// Lets the kernel read the rest of a message whose sender does not stream it, since it is not in MPI or has other
/// things to do. False if that is not allowed, or if the sender has gone on meanwhile.
bool SharedMemory::read_rest(Rendezvous &rendezvous, const Receive &receive) {
    if (cma_refused_ || rendezvous.plan != 0) return false;
    RendezvousState before = RendezvousState::wanted;
    if (!rendezvous.move(before, RendezvousState::taken)) {
        before = RendezvousState::streaming;
        if (!rendezvous.move(before, RendezvousState::taken)) return false;
    }
    if (read_process(rendezvous, receive, rendezvous.copied.load(std::memory_order_relaxed))) return true;
    hand_over(rendezvous, before);
    return false;
}

bool SharedMemory::continue_fetches() {
    bool moved = false;
    for (std::size_t i = 0; i < fetches_.size();) {
        auto &[receive, rendezvous, moved_at, may_read] = fetches_[i];
        const std::uint64_t now = clock_ns();
        bool took_rest = may_read && now - moved_at > patience_ns && read_rest(*rendezvous, *receive);
        RendezvousState state = rendezvous->state.load(std::memory_order_acquire);
        bool streams = state == RendezvousState::streaming || state == RendezvousState::buffered;
        if (streams && take_from_stream(*rendezvous, *receive)) {
            moved = true;
            moved_at = now;
        }
        if (!took_rest && rendezvous->copied.load(std::memory_order_relaxed) != receive->completion.bytes) {
            i++;
            continue;
        }
        Fetch fetch = fetches_[i];
        fetches_[i] = fetches_.back();
        fetches_.pop_back();
        release(*fetch.rendezvous);
        received(*fetch.receive);
        moved = true;
    }
    return moved;
}

bool SharedMemory::progress(Look look) {
    bool moved = channels.poll(look, [&](ProcessIndex sender, RingReceiver &ring, Slot *slot, bool may_leave) {
        return arrive(sender, ring, slot, may_leave);
    });
    if (!queued_.empty()) [[unlikely]]
        moved |= drain_queues();
    for (Send *send = polled_.first(); send;) {
        Send *next = send->outstanding_links.next;
        moved |= check(*send);
        send = next;
    }
    moved |= heed_attention();
    if (!fetches_.empty()) [[unlikely]]
        moved |= continue_fetches();
    // There is nothing else to do, so prepare the next message.
    if (!moved && last_used_ && !last_used_->prefetch_some(prefetched_when_idle)) last_used_ = nullptr;
    return moved;
}

void SharedMemory::prepare() {
    channels.prepare();
    attention_ = &node.inbox(node.place())->attention;
    queues_.clear();
    blocks_kept_.clear();
    make_room();
    reserve_ = reserved_ = arena_allocate_undefined(static_cast<std::size_t>(reserve_bytes));
    if (!reserve_) throw Error("the memory the ranks share is used up");
}

void SharedMemory::make_room() {
    auto all = static_cast<std::size_t>(processes.size());
    channels.make_room();
    last_used_ = nullptr; // the rings' places have moved
    queues_.resize(all);
    blocks_kept_.resize(all);
}

} // namespace volley
