// SPDX-License-Identifier: BSD-3-Clause
/// One rank's engine: what it knows of the job, progress, and waiting.
#pragma once

#include "core/lock.h"
#include "transport/memory.h"
#include "transport/node.h"
#include "wait/sleep.h"

#include <atomic>
#include <cstdint>

namespace volley {

/// Something that has to be moved on from time to time: a collective schedule, a generalized operation. While it
/// is registered, every progress() calls progress().
class ProgressHook {
  public:
    /// Moves on as far as possible without waiting. May remove_hook itself, and may register_hook others.
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

/// What a call that waits tells others about itself.
struct WaitingFor {
    std::int32_t peer = -1; ///< rank in the communicator
    std::int32_t tag = 0;
    std::uint32_t context = 0; ///< 0: nothing known
    std::int64_t count = 0;
    std::uintptr_t datatype = 0; ///< handle
    WaitKind kind = WaitKind::unknown;
    ProcessIndex peer_process = -1; ///< -1: nobody in particular
};

/// One of several requests.
struct WaitingForOne {
    std::uint32_t requests = 0;
    WaitingFor first[most_alternatives];
};

class Engine {
  public:
    // Changed with the lock only; some functions look at them without it.
    std::atomic<int> thread_level = 0;
    std::atomic<Phase> phase = Phase::before;
    /// All of MPI may be called: between MPI_Init and MPI_Finalize, and as long as there is a session.
    std::atomic<bool> available = false;
    Lock lock; ///< held inside every call, or owned

    /// One round: looks at all transports, moves pending sends and registered operations. True if anything moved.
    bool progress();

    /// Looks, and once more after a round of progress: for calls that do not wait.
    template <class Ready> bool poll(Ready &&ready) {
        if (ready()) return true;
        progress();
        return ready();
    }

    /// Progresses until `ready()`; spins, yields, sleeps, and lets other threads of the rank run meanwhile. `ready`
    /// must become true through messages, registered operations, or memory that another rank changes *before it calls
    /// wake_rank()* for this one. `about` is published once the wait is not a short one.
    template <class Ready> void wait_until(Ready &&ready, const WaitingFor &about = {}) {
        wait_and_tell(ready, [&] { publish_wait(about); });
    }
    /// The same for a call that one of several requests ends. `told` gives what they wait for when it is called.
    template <class Ready, class Told> void wait_until_one(Ready &&ready, Told &&told) {
        wait_and_tell(ready, [&] { publish_wait(told()); });
    }

    /// Called after something another thread of this rank may be waiting for.
    void wake_own_threads() {
        if (lock.is_shared() && node.own->sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]]
            wake_sleepers(*node.own);
    }

    /// Tells others which collective operation a call has begun; `peer` is its root.
    void publish_collective(const WaitingFor &about) {
        CallStatus &call_status = node.own->call_status;
        call_status.collective.store(about.context, std::memory_order_relaxed);
        call_status.root.store(about.peer, std::memory_order_relaxed);
        call_status.count.store(about.count, std::memory_order_relaxed);
        call_status.datatype.store(about.datatype, std::memory_order_relaxed);
    }

    void register_hook(ProgressHook &operation);
    void remove_hook(ProgressHook &operation);

  private:
    template <class Ready, class Publish> void wait_and_tell(Ready &&ready, Publish &&publish) {
        if (ready()) return;
        Wait wait(*node.own, node.wait_policy, node.fences);
        bool published = false;
        for (;;) {
            bool moved = progress();
            if (ready()) break;
            if (moved) {
                wait.moved();
                continue;
            }
            if (!published && wait.is_long()) {
                publish();
                published = true;
            }
            wait.step([&] { return progress() || ready(); }, lock);
        }
        if (published) end_wait();
    }
    void publish_wait(const WaitingFor &about);
    void publish_wait(const WaitingForOne &about);
    void end_wait();

    ProgressHook *first_ = nullptr;
};

extern Engine engine;

} // namespace volley
