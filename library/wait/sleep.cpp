// SPDX-License-Identifier: BSD-3-Clause
#include "sleep.h"

#include "wait/clock.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace volley {
namespace {

long membarrier(int command) {
    return syscall(SYS_membarrier, command, 0, 0);
}

std::int64_t now_ns() {
    return static_cast<std::int64_t>(clock_ns());
}

/// A sleeper looks again this often even if nobody wakes it.
constexpr timespec longest_sleep{.tv_sec = 0, .tv_nsec = 100'000'000};

/// A waker may have delivered but not woken the sleeper yet, since others have its core. The sleeper gives it so long
/// before it counts a lost wake-up, and as much again for each other process that wants to run.
constexpr std::int64_t waker_is_late_ns = 200'000'000;

/// How many processes of this machine run or want to; 1 if that cannot be told (proc(5), /proc/loadavg).
int runnable_processes() {
    char text[128] = "";
    const int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 1;
    const ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    int runnable = 1;
    return bytes > 0 && std::sscanf(text, "%*f %*f %*f %d/", &runnable) == 1 ? std::max(runnable, 1) : 1;
}

// Spinning beyond some ten microseconds rarely succeeds (an answer that is under way arrives within one), and a rank
// that waits a millisecond should use no CPU.
constexpr std::int64_t spin_ns = 50'000;
constexpr std::int64_t yield_ns = 500'000;
constexpr std::int64_t oversubscribed_yield_ns = 200'000;

void wake_futex(RankRecord &rank) {
    rank.wake.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &rank.wake, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// A yield takes 0.2 to 0.4 us, a mere system call, if nobody else is ready to run. With two context switches in
/// between it takes 1.5 us and more.
constexpr std::int64_t switch_ns = 600;

} // namespace

FenceKind prepare_fences() {
    long offered = membarrier(MEMBARRIER_CMD_QUERY);
    if (offered >= 0 && (offered & MEMBARRIER_CMD_GLOBAL_EXPEDITED) &&
        membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0)
        return FenceKind::global_barrier;
    return FenceKind::sender;
}

void heavy_fence() {
    membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

void wake_sleepers(RankRecord &rank) {
    // What the rank wrote before it announced its sleep, such as the name of its socket, is visible after this fence.
    std::atomic_thread_fence(std::memory_order_acquire);
    wake_futex(rank);
    if (std::uint32_t number = rank.wake_up_socket.load(std::memory_order_relaxed)) [[unlikely]]
        descriptors.wake_up(number);
}

WaitPolicy WaitPolicy::for_job(std::uint32_t ranks_on_host, std::uint32_t cpus) {
    if (ranks_on_host > cpus) return {.spin_until_ns = 0, .yield_until_ns = oversubscribed_yield_ns};
    return {.spin_until_ns = spin_ns, .yield_until_ns = yield_ns};
}

CoreWatch core_watch;
SleepCounters sleep_counters;

void CoreWatch::yield() {
    std::uint32_t number = yields_.load(std::memory_order_relaxed) + 1;
    yields_.store(number, std::memory_order_relaxed);
    if (number % yields_per_timed != 0) {
        sched_yield();
        return;
    }
    std::int64_t before = now_ns();
    sched_yield();
    bool at_once = now_ns() - before < switch_ns;
    int seen = std::min(at_once_.load(std::memory_order_relaxed) + 1, at_once_if_free);
    at_once_.store(at_once ? seen : 0, std::memory_order_relaxed);
}

std::int64_t Wait::waited_ns() {
    if (began_ns_ == 0) began_ns_ = now_ns();
    return now_ns() - began_ns_;
}

std::uint32_t Wait::announce_sleep() {
    // Read before `sleeping` is raised: a wake-up after this line changes the word, so futex_wait cannot miss it.
    std::uint32_t seen = own_.wake.load(std::memory_order_acquire);
    own_.sleeping.fetch_add(1, std::memory_order_seq_cst);
    if (kind_ == FenceKind::global_barrier) heavy_fence();
    return seen;
}

bool Wait::sleep(std::uint32_t seen) {
    const std::int64_t before = now_ns();
    const bool woken = sleep_uncounted(seen);
    sleep_counters.sleeps.fetch_add(1, std::memory_order_relaxed);
    sleep_counters.ns.fetch_add(static_cast<std::uint64_t>(now_ns() - before), std::memory_order_relaxed);
    return woken;
}

bool Wait::sleep_uncounted(std::uint32_t seen) {
    if (descriptors.in_use() && descriptors.take_turn()) {
        bool woken = descriptors.sleep(own_.wake, seen, longest_sleep);
        descriptors.end_turn();
        // This thread may have what it waits for, so another thread has to watch the descriptors now.
        if (own_.sleeping.load(std::memory_order_relaxed) > 1) wake_futex(own_);
        return woken;
    }
    // FUTEX_PRIVATE_FLAG would be wrong: the waker may be another process with only the arena in common.
    long ended = syscall(SYS_futex, &own_.wake, FUTEX_WAIT, seen, &longest_sleep, nullptr, 0);
    return ended == 0 || errno != ETIMEDOUT;
}

void Wait::note_lost_wake_up(std::uint32_t seen) {
    const std::int64_t until = now_ns() + waker_is_late_ns * runnable_processes();
    constexpr timespec between_looks{.tv_sec = 0, .tv_nsec = 1'000'000};
    while (own_.wake.load(std::memory_order_acquire) == seen && !descriptors.has_unread_byte()) {
        if (now_ns() >= until) {
            own_.lost_wake_ups.fetch_add(1, std::memory_order_relaxed);
            assert(!"nobody woke this rank though what it waits for is there");
            return;
        }
        nanosleep(&between_looks, nullptr);
    }
}

} // namespace volley
