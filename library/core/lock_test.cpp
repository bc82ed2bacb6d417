// SPDX-License-Identifier: BSD-3-Clause
/// The lock by itself; abi/call_test.cpp has calls of its owner and of other threads.
#include "core/lock.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

namespace volley {
namespace {

TEST(Lock, IsHeldByOneThreadAtATime) {
    constexpr int threads = 4, times = 2000;
    Lock lock;
    int inside = 0, counted = 0; // without a lock of their own
    bool met = false;
    std::array<std::thread, threads> running;
    for (std::thread &thread : running)
        thread = std::thread([&] {
            for (int i = 0; i < times; i++) {
                lock.acquire();
                lock.acquire(); // a callback calls MPI
                met |= ++inside != 1;
                counted++;
                if (i % 3 == 0) { // it waits there
                    --inside;
                    lock.take_back(lock.give_away());
                    met |= ++inside != 1;
                }
                --inside;
                lock.release();
                lock.release();
            }
        });
    for (std::thread &thread : running) thread.join();
    EXPECT_FALSE(met);
    EXPECT_EQ(counted, threads * times);
}

TEST(Lock, IsGivenAwayWithAllItsDepth) {
    Lock lock;
    lock.acquire();
    lock.acquire();
    lock.acquire();
    std::int32_t depth = lock.give_away();
    EXPECT_EQ(depth, 3);
    std::thread([&] { // else this would wait for ever
        lock.acquire();
        lock.release();
    })
        .join();
    lock.take_back(depth);
    EXPECT_EQ(lock.give_away(), 3);
}

TEST(Lock, WhoDoesNotHoldItHasNothingToGiveAway) {
    Lock lock;
    EXPECT_EQ(lock.give_away(), 0);
    lock.take_back(0);
    std::thread([&] { EXPECT_EQ(lock.give_away(), 0); }).join();
}

TEST(Lock, SaysWhetherAnotherThreadWantsIt) {
    Lock lock;
    lock.acquire();
    EXPECT_FALSE(lock.contended());
    std::thread other([&] {
        lock.acquire();
        lock.release();
    });
    while (!lock.contended()) std::this_thread::yield();
    lock.release();
    other.join();
    EXPECT_FALSE(lock.contended());
}

TEST(Lock, WithoutAHeavyFenceNobodyOwnsIt) {
    Lock lock; // node.fences is not set in this test
    std::atomic<std::uint32_t> inside = 1;
    lock.acquire();
    lock.make_owner(inside);
    lock.release();
    EXPECT_FALSE(lock.is_owner());
    EXPECT_TRUE(lock.is_shared());
}

} // namespace
} // namespace volley
