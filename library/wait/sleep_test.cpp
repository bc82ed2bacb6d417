// SPDX-License-Identifier: BSD-3-Clause
#include "sleep.h"

#include "no_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace volley {
namespace {

using Clock = std::chrono::steady_clock;

/// A wait_policy that sleeps at the first chance, so that every wait goes through the dangerous part.
constexpr WaitPolicy hasty{.spin_until_ns = 0, .yield_until_ns = 0};

/// One rank that waits and one that delivers, in turns; returns how many waits lasted as long as the sleep's own
/// time limit, which only a lost wake-up explains (a sender answers within microseconds of its own waking).
int lost_wake_ups(FenceKind kind, int rounds) {
    auto waiter = std::make_unique<RankRecord>();
    auto sender = std::make_unique<RankRecord>();
    alignas(64) std::atomic<int> delivered{0};
    alignas(64) std::atomic<int> answered{0};
    int lost = 0;
    std::thread other([&] {
        for (int i = 1; i <= rounds; i++) {
            for (Wait wait(*sender, hasty, kind); answered.load(std::memory_order_acquire) < i - 1;)
                wait.step([&] { return answered.load(std::memory_order_acquire) >= i - 1; }, no_lock);
            delivered.store(i, std::memory_order_release);
            wake(*waiter, kind);
        }
    });
    for (int i = 1; i <= rounds; i++) {
        auto start = Clock::now();
        for (Wait wait(*waiter, hasty, kind); delivered.load(std::memory_order_acquire) < i;)
            wait.step([&] { return delivered.load(std::memory_order_acquire) >= i; }, no_lock);
        lost += Clock::now() - start > std::chrono::milliseconds(99);
        answered.store(i, std::memory_order_release);
        wake(*sender, kind);
    }
    other.join();
    EXPECT_EQ(waiter->sleeping.load(), 0u);
    return lost;
}

TEST(Sleep, NoWakeUpIsLostWithTheFenceThisKernelGrants) {
    FenceKind kind = prepare_fences();
    EXPECT_NE(kind, FenceKind::undecided);
    // A machine that stops both threads for 100 ms at the wrong moment may account for one or two.
    EXPECT_LE(lost_wake_ups(kind, 50000), 2);
}

TEST(Sleep, NoWakeUpIsLostWithTheSendersFence) {
    EXPECT_LE(lost_wake_ups(FenceKind::sender, 50000), 2);
}

TEST(Sleep, OversubscribedRanksDoNotSpin) {
    EXPECT_EQ(WaitPolicy::for_job(8, 2).spin_until_ns, 0);
    EXPECT_GT(WaitPolicy::for_job(2, 2).spin_until_ns, 0);
    EXPECT_LT(WaitPolicy::for_job(2, 2).yield_until_ns, 1'000'000) << "after a millisecond a waiting rank uses no CPU";
}

} // namespace
} // namespace volley
