// SPDX-License-Identifier: BSD-3-Clause
/// One rank's engine: what it knows of the job, progress, and waiting.
#pragma once

#include "core/lock.h"
#include "transport/memory.h"
#include "transport/message.h"
#include "transport/node.h"
#include "wait/sleep.h"

#include <atomic>
#include <cstdint>

namespace volley {

/// An operation that needs progress from time to time: a collective schedule, a generalized operation. While it is
/// registered, every Engine::progress() calls its progress().
class ProgressHook {
  public:
    /// Progresses as far as possible without waiting. May call remove_hook() for itself and register_hook() for others.
    virtual void progress() = 0;

  protected:
    ~ProgressHook() = default;

  private:
    friend class Engine;
    ProgressHook *previous_ = nullptr, *next_ = nullptr;
    bool registered_ = false;
};

/// Where this rank is between MPI_Init and MPI_Finalize.
enum class Phase : std::uint8_t { before, initialised, finalised };

/// What a waiting call publishes about itself.
struct WaitingFor {
    std::int32_t peer = -1; ///< rank in the communicator
    std::int32_t tag = 0;
    std::uint32_t context = 0; ///< 0: unknown
    std::int64_t count = 0;
    std::uintptr_t datatype = 0; ///< handle
    WaitKind kind = WaitKind::unknown;
    ProcessIndex peer_process = -1; ///< -1: no single process
};

/// The same for a call that waits for any one of several requests.
struct WaitingForOne {
    std::uint32_t requests = 0;
    WaitingFor first[most_alternatives];
};

class Engine {
  public:
    // Written under the lock only; some functions read them without it.
    std::atomic<int> thread_level = 0;
    std::atomic<Phase> phase = Phase::before;
    /// All of MPI may be called: between MPI_Init and MPI_Finalize, and as long as there is a session.
    std::atomic<bool> available = false;
    Lock lock; ///< inside every call the thread holds it or is its owner

    /// One round of progress: polls all transports, pending sends and registered hooks. True if a transport moved
    /// anything.
    bool progress(Look look);
    /// The same, looking everywhere, also for processes that have failed. For calls that do not wait, and before a wait
    /// lets others have its core.
    bool progress() {
        bool moved = progress(Look::everywhere);
        if (node.arena->incidents.load(std::memory_order_relaxed) != 0) [[unlikely]]
            moved |= attend_to_failures();
        return moved;
    }

    /// One round of progress for a call that does not wait. If there are more ranks than cores, one that asks again and
    /// again keeps those from running that it asks for: in vain, it gives way.
    void look() {
        if (!progress() && node.wait_policy.spin_until_ns == 0) [[unlikely]]
            give_way();
    }

    /// Checks `ready()`, looks, and checks again.
    template <class Ready> bool poll(Ready &&ready) {
        if (ready()) return true;
        look();
        return ready();
    }

    /// Progresses until `ready()`; spins, yields, sleeps, and lets other threads of the rank run meanwhile. `ready`
    /// must become true through messages, registered hooks, or memory that another rank changes *before* that rank
    /// calls wake_rank() for this one. `about` is published once the wait has become a long one.
    template <class Ready> void wait_until(Ready &&ready, const WaitingFor &about = {}) {
        wait_and_tell(ready, [&] { publish_wait(about); });
    }
    /// The same for a call that any one of several requests completes. `told()` returns what they wait for now.
    template <class Ready, class Told> void wait_until_one(Ready &&ready, Told &&told) {
        wait_and_tell(ready, [&] { publish_wait(told()); });
    }

    /// Called after an event that another thread of this rank may be waiting for.
    void wake_own_threads() {
        if (lock.is_shared() && node.own->sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]]
            wake_sleepers(*node.own);
    }

    /// Publishes which collective operation a call has begun; `about.peer` is its root.
    void publish_collective(const WaitingFor &about) {
        CallStatus &call_status = node.own->call_status;
        call_status.collective.store(about.context, std::memory_order_relaxed);
        call_status.root.store(about.peer, std::memory_order_relaxed);
        call_status.count.store(about.count, std::memory_order_relaxed);
        call_status.datatype.store(about.datatype, std::memory_order_relaxed);
    }

    /// How many calls have waited so long that they published what they waited for.
    std::uint64_t long_waits() const {
        return long_waits_;
    }

    void register_hook(ProgressHook &operation);
    void remove_hook(ProgressHook &operation);

  private:
    template <class Ready, class Publish> void wait_and_tell(Ready &&ready, Publish &&publish) {
        if (ready()) return;
        Wait wait(*node.own, node.wait_policy, node.fences);
        bool published = false;
        for (;;) {
            bool moved = progress(Look::active);
            if (ready()) break;
            if (moved) {
                wait.moved();
                continue;
            }
            if (!published && wait.is_long()) {
                publish();
                published = true;
            }
            // Once true, ready() is not called again: it may have taken a message.
            bool is_ready = false;
            wait.step([&] { return progress() || (is_ready = ready()); }, lock);
            if (is_ready) break;
        }
        if (published) end_wait();
    }
    static bool attend_to_failures();
    void give_way();
    void publish_wait(const WaitingFor &about);
    void publish_wait(const WaitingForOne &about);
    void end_wait();

    ProgressHook *first_ = nullptr;
    std::uint64_t long_waits_ = 0;
    std::uint32_t polls_ = 0; ///< in vain
};

extern Engine engine;

} // namespace volley
