// SPDX-License-Identifier: BSD-3-Clause
/// Waiting without burning a core (spin, then yield, then sleep), and waking a rank that sleeps.
///
/// The classic error is the lost wake-up: the waiter looks (nothing there), the sender delivers and sees no sleeper,
/// the waiter goes to sleep for ever. Two orders exclude it, if each side's store is visible before its load:
///
///     waiter                          sender
///     sleeping = 1                    deliver (release store into a ring)
///     ---- heavy fence ----           ---- light fence ----
///     look once more                  if sleeping: change `wake`, futex_wake
///     futex_wait(wake, seen before)
///
/// A fence on the sender's side would cost every message some ten nanoseconds, so the waiter pays for both:
/// membarrier(2) runs a full barrier on every CPU that executes one of our threads, and the sender's fence only
/// restrains the compiler. Sleeping is rare and takes microseconds anyway. Where the kernel refuses membarrier (old
/// kernels, seccomp), senders use a real fence. Each rank asks the kernel itself, and all get the same answer.
/// sleep.pml models the protocol; sleep_test.cpp stresses it.
///
/// A sleep has a time limit, though no wait depends on it: whoever changes what another rank may wait for wakes that
/// rank. If a sleeper's time is up and it finds what it waits for, while nobody has changed its `wake`, then a waker
/// has forgotten it. It counts such lost wake-ups (RankRecord::lost_wake_ups), the program is told at its end, and a
/// debug build stops.
///
/// A rank that also gets messages through sockets sleeps on these, and on a socket that takes the place of the futex
/// (wait/descriptors.h; descriptors.pml models it).
#pragma once

#include "boot/job.h"
#include "wait/descriptors.h"

#include <atomic>
#include <cstdint>

namespace volley {

/// How a sender's store is ordered before its look at `sleeping`; one value for all ranks of a host.
enum class FenceKind : std::uint32_t {
    undecided = 0,
    sender = 1,         ///< a full fence in every send
    global_barrier = 2, ///< the waiter's MEMBARRIER_CMD_GLOBAL_EXPEDITED, which reaches all registered processes
};

/// Returns the best kind this kernel grants, and registers the calling process for it. Call once per rank (or once per
/// address space), before it sleeps or sends. The first call in an address space of several processes takes
/// milliseconds, so the launcher makes it before there are several.
FenceKind prepare_fences();

/// A full fence on every core that runs a thread of a registered process, the caller's own included. Only to be called
/// where prepare_fences() has returned global_barrier.
void heavy_fence();

/// A sender calls this after it has delivered, before it reads `sleeping`.
inline void sender_fence(FenceKind kind) {
    if (kind == FenceKind::sender) [[unlikely]]
        std::atomic_thread_fence(std::memory_order_seq_cst);
    else
        std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// The slow part of wake(): at least one thread of the rank sleeps or is about to.
void wake_sleepers(RankRecord &rank);

/// Called by a sender after it has delivered something to `rank`: wakes it if it sleeps.
inline void wake(RankRecord &rank, FenceKind kind) {
    sender_fence(kind);
    if (rank.sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]]
        wake_sleepers(rank);
}

/// Durations of the stages of waiting, in nanoseconds since the wait began.
struct WaitPolicy {
    std::int64_t spin_until_ns;  ///< with a pause between looks
    std::int64_t yield_until_ns; ///< giving the core to others between looks; then sleep

    /// With a core for every rank, spinning is free and fastest. With more ranks than cores, a spin only keeps the
    /// awaited rank from running, so a rank yields at once. It also sleeps soon, since every yield may run another
    /// waiter in vain.
    static WaitPolicy for_job(std::uint32_t ranks_on_host, std::uint32_t cpus);
};

/// Tells whether others want this rank's core. With more ranks than cores, a spin may keep another rank from running.
/// But if no other is ready to run, as when only two of many ranks have work, a yield is just a slow poll.
///
/// CoreWatch judges by how long yields take. A single yield that comes back at once means little: the scheduler (EEVDF,
/// since Linux 6.6) may choose the same process several times though another waits. All threads of the rank use it.
class CoreWatch {
  public:
    void yield();
    /// How often.
    std::uint32_t yields() const {
        return yields_.load(std::memory_order_relaxed);
    }
    bool is_free() const {
        return at_once_.load(std::memory_order_relaxed) >= at_once_if_free;
    }

  private:
    static constexpr std::uint32_t yields_per_timed = 4; ///< since reading the clock costs time, too
    static constexpr int at_once_if_free = 16;           ///< timed yields in a row

    std::atomic<std::uint32_t> yields_{0};
    std::atomic<int> at_once_{0};
};

extern CoreWatch core_watch;

/// How often and how long this rank's threads have slept, for tools.
struct SleepCounters {
    std::atomic<std::uint64_t> sleeps{0}, ns{0};
};

extern SleepCounters sleep_counters;

/// One wait from its first unsuccessful look to success.
///
///     for (Wait wait(mine, wait_policy, fences); !ready(); wait.step(ready, lock)) {}
class Wait {
  public:
    Wait(RankRecord &own, const WaitPolicy &wait_policy, FenceKind kind)
        : own_(own), policy_(wait_policy), kind_(kind) {}

    /// Lets some time pass. `ready` is called before the rank lets others have its core, and again between announcing
    /// sleep and sleeping. It must see everything that was delivered before, and may have side effects (it is the
    /// progress function). `lock` (give_away, take_back, contended) is held by the waiting thread, which lets others
    /// have it meanwhile.
    template <typename Ready, typename Lock> void step(Ready &&ready, Lock &lock) {
        const bool others = lock.contended(), is_early = ++looks_ < looks_before_clock && !others;
        const std::int64_t waited = is_early ? 0 : waited_ns();
        if (is_early ? spins() : waited < policy_.spin_until_ns && !others) return pause();
        if (is_early || waited < policy_.yield_until_ns) {
            if (ready()) return moved();
            if (!others) return yield();
            auto depth = lock.give_away();
            yield();
            return lock.take_back(depth);
        }
        rest(ready, lock);
    }

    /// The last of the stages at once: sleeps, unless `ready()`.
    template <typename Ready, typename Lock> void rest(Ready &&ready, Lock &lock) {
        std::uint32_t seen = announce_sleep();
        if (!ready()) {
            std::uint64_t found = descriptors.found();
            auto depth = lock.give_away();
            bool woken = sleep(seen);
            lock.take_back(depth);
            if (!woken && ready() && descriptors.found() == found) [[unlikely]]
                note_lost_wake_up(seen);
        } else {
            // What has moved may want to be looked at again soon: a receiver that gives a sender 50 us to bring the
            // rest must not sleep then (transport/shm/receive.cpp).
            moved();
        }
        own_.sleeping.fetch_sub(1, std::memory_order_relaxed);
    }

    /// Waits the few microseconds that another rank needs to finish what it has begun.
    template <typename Ready> static void briefly(Ready &&ready) {
        for (int looks = 0; !ready(); looks++) {
            if (looks > 1000)
                yield();
            else
                pause();
        }
    }

    /// The wait has lasted long enough that it is worth telling others about it.
    bool is_long() const {
        return looks_ >= looks_before_clock;
    }

    /// Something arrived, though not what the rank waits for: it starts anew with spinning.
    void moved() {
        looks_ = 0;
        began_ns_ = 0;
    }

  private:
    static constexpr int looks_before_clock = 64; ///< a clock read costs as much as several looks
    static constexpr int looks_before_yield = 16; ///< with more ranks than cores, if no other rank wants this core

    bool spins() const {
        return policy_.spin_until_ns > 0 || (core_watch.is_free() && looks_ % looks_before_yield != 0);
    }
    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("isb" ::: "memory");
#endif
    }
    static void yield() {
        core_watch.yield();
    }
    std::int64_t waited_ns();
    /// Raises `sleeping`, makes that visible, and returns the value that `wake` had before.
    std::uint32_t announce_sleep();
    /// False if the time limit ended it.
    bool sleep(std::uint32_t seen);
    bool sleep_uncounted(std::uint32_t seen);
    /// Called when a sleep has timed out with `wake` still `seen`, though what the rank waited for is there.
    void note_lost_wake_up(std::uint32_t seen);

    RankRecord &own_;
    const WaitPolicy &policy_;
    FenceKind kind_;
    int looks_ = 0;
    std::int64_t began_ns_ = 0;
};

} // namespace volley
