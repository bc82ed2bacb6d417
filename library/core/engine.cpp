// SPDX-License-Identifier: BSD-3-Clause
#include "core/engine.h"

#include "core/failures.h"
#include "core/messages.h"
#include "core/tool_events.h"
#include "wait/clock.h"

namespace volley {

Engine engine;

bool Engine::progress(Look look) {
    bool moved = messages.progress(look);
    for (ProgressHook *operation = first_; operation;) {
        // progress() may remove this hook from the list, but no other.
        ProgressHook *next = operation->next_;
        operation->progress();
        operation = next;
    }
    // Other threads of this rank may be asleep, waiting for what this thread has just received.
    if (moved) wake_own_threads();
    return moved;
}

/// As long as nobody else wants the core, a yield would only be a slow look (CoreWatch).
void Engine::give_way() {
    constexpr std::uint32_t polls_before_yield = 16;
    if (++polls_ % polls_before_yield == 0 || !core_watch.is_free()) core_watch.yield();
}

bool Engine::attend_to_failures() {
    return failures.attend();
}

void Engine::register_hook(ProgressHook &operation) {
    if (operation.registered_) return;
    operation.registered_ = true;
    operation.previous_ = nullptr;
    operation.next_ = first_;
    if (first_) first_->previous_ = &operation;
    first_ = &operation;
}

void Engine::remove_hook(ProgressHook &operation) {
    if (!operation.registered_) return;
    operation.registered_ = false;
    if (operation.previous_)
        operation.previous_->next_ = operation.next_;
    else
        first_ = operation.next_;
    if (operation.next_) operation.next_->previous_ = operation.previous_;
}

void Engine::publish_wait(const WaitingFor &about) {
    CallStatus &call_status = node.own->call_status;
    call_status.kind.store(about.kind, std::memory_order_relaxed);
    call_status.peer.store(about.peer, std::memory_order_relaxed);
    call_status.world_peer.store(processes.rank_in_job(about.peer_process), std::memory_order_relaxed);
    call_status.tag.store(about.tag, std::memory_order_relaxed);
    call_status.context.store(about.context, std::memory_order_relaxed);
    if (about.kind == WaitKind::collective || about.kind == WaitKind::round) {
        publish_collective(about);
    } else if (about.kind != WaitKind::step) { // a step of a schedule has other data than the user passed
        call_status.count.store(about.count, std::memory_order_relaxed);
        call_status.datatype.store(about.datatype, std::memory_order_relaxed);
    }
    call_status.since_ns.store(clock_ns(), std::memory_order_relaxed);
}

void Engine::publish_wait(const WaitingForOne &about) {
    if (about.requests == 1) return publish_wait(about.first[0]);
    CallStatus &call_status = node.own->call_status;
    for (std::size_t i = 0; i < std::min<std::size_t>(about.requests, most_alternatives); ++i) {
        call_status.alternatives[i].kind.store(about.first[i].kind, std::memory_order_relaxed);
        call_status.alternatives[i].peer.store(about.first[i].peer, std::memory_order_relaxed);
        call_status.alternatives[i].world_peer.store(processes.rank_in_job(about.first[i].peer_process),
                                                     std::memory_order_relaxed);
        call_status.alternatives[i].tag.store(about.first[i].tag, std::memory_order_relaxed);
        call_status.alternatives[i].context.store(about.first[i].context, std::memory_order_relaxed);
    }
    call_status.requests.store(about.requests, std::memory_order_relaxed);
    publish_wait(WaitingFor{.kind = WaitKind::one_of});
}

void Engine::end_wait() {
    CallStatus &call_status = node.own->call_status;
    const std::uint64_t since = call_status.since_ns.load(std::memory_order_relaxed);
    call_status.since_ns.store(0, std::memory_order_relaxed);
    long_waits_++;
    if (tool_events) [[unlikely]]
        tool_events->long_wait(call_status.kind.load(std::memory_order_relaxed),
                               call_status.world_peer.load(std::memory_order_relaxed), clock_ns() - since);
}

} // namespace volley
