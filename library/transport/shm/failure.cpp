// SPDX-License-Identifier: BSD-3-Clause
/// What becomes of messages when a process fails, or a communicator is revoked, in a job that outlives that.
///
/// A process that has failed is gone: it neither reads nor writes any more. So what it shared with this rank can be
/// given up at any state. Its own rendezvous and rings stay in the arena, unused. A living process, however, may have
/// begun to copy: such a message goes on to its end.
#include "transport/shm/shared_memory.h"

#include <algorithm>

namespace volley {

void SharedMemory::forget(ProcessIndex process) {
    channels.forget(process);
    last_used_ = nullptr;
}

/// Takes a send by rendezvous back. False if its receiver has begun to receive it.
bool SharedMemory::take_back(Send &send) {
    Rendezvous &rendezvous = *send.rendezvous;
    if (node.has_failed(send.receiver)) {
        no_longer_outstanding(send);
        if (send.block) {
            rendezvous.kept = 0;
            take_back(rendezvous, send.block);
        }
        return true; // the rendezvous is not used again: it may be on this rank's list of attention
    }
    if (rendezvous.claim(RendezvousState::cancelled)) {
        no_longer_outstanding(send);
        keep_buffered(rendezvous, nullptr);
        return true;
    }
    if (rendezvous.state.load(std::memory_order_acquire) != RendezvousState::buffered) return false;
    no_longer_outstanding(send); // a synchronous send, whose data lies in the arena: it need not be received any more
    keep_buffered(rendezvous, send.block);
    return true;
}

bool SharedMemory::end_sends(const std::function<bool(const Send &)> &is_over,
                             const std::function<int(const Send &)> &code_of) {
    std::vector<Send *> ended;
    // A receiver may have failed between its last step and telling of it: that send is complete.
    auto is_complete = [](const Send &send) {
        return send.rendezvous->state.load(std::memory_order_acquire) == RendezvousState::done;
    };
    for (const ProcessIndex receiver : queued_)
        for (Send *send = queues_[static_cast<std::size_t>(receiver)].first(); send; send = send->queue.next)
            if (is_over(*send)) ended.push_back(send);
    for (auto *chain : {&polled_, &notifying_})
        for (Send *send = chain->first(); send; send = send->outstanding_links.next)
            if (is_complete(*send) ? node.has_failed(send->receiver) : is_over(*send)) ended.push_back(send);
    bool any = false;
    for (Send *send : ended) {
        const bool completed = !send->queued && is_complete(*send);
        if (send->queued) {
            auto &queue = queues_[static_cast<std::size_t>(send->receiver)];
            queue.remove(*send);
            send->queued = false;
            if (!queue.first()) std::erase(queued_, send->receiver);
            if (send->rendezvous) free_rendezvous_.push_back(send->rendezvous);
        } else if (!take_back(*send)) {
            continue;
        }
        if (!completed) send->error = code_of(*send);
        sent(*send);
        any = true;
    }
    return any;
}

bool SharedMemory::end_fetches() {
    std::vector<Fetch> ended;
    std::erase_if(fetches_, [&](const Fetch &fetch) {
        // What is buffered is all in the arena, and is copied out of there as usual.
        const bool is_lost = node.has_failed(processes.at_place(fetch.rendezvous->sender)) &&
                             fetch.rendezvous->state.load(std::memory_order_acquire) != RendezvousState::buffered;
        if (is_lost) ended.push_back(fetch);
        return is_lost;
    });
    for (const Fetch &fetch : ended) {
        lost(*fetch.receive, processes.at_place(fetch.rendezvous->sender));
        received(*fetch.receive);
    }
    return !ended.empty();
}

} // namespace volley
