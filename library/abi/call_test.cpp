// SPDX-License-Identifier: BSD-3-Clause
#include "abi/call.h"

#include "core/test_job.h"

#include <array>
#include <memory>
#include <thread>

namespace volley {
namespace {

/// Calls by the thread that began, as the owner of the lock, and by others that come later.
class Calls : public TestJob {
  protected:
    void SetUp() override {
        node.fences = prepare_fences();
        if (node.fences != FenceKind::global_barrier) GTEST_SKIP() << "this kernel has no membarrier";
        std::destroy_at(&engine.lock);
        std::construct_at(&engine.lock);
        Call first(1);
        engine.lock.make_owner(node.own->call_status.function);
    }

    /// What a call does: nobody else is here meanwhile.
    void work() {
        count_++;
    }

    int count_ = 0; ///< without a lock of its own
};

TEST_F(Calls, OfTheOwnerNeedNoLock) {
    EXPECT_TRUE(engine.lock.is_owner());
    Call call(1);
    EXPECT_EQ(node.own->call_status.function, 1U);
    EXPECT_EQ(engine.lock.give_away(), 0);
    EXPECT_TRUE(engine.lock.is_owner());
}

TEST_F(Calls, OfAnotherThreadEndTheOwnershipForGood) {
    std::thread([] { Call call(1); }).join();
    EXPECT_FALSE(engine.lock.is_owner());
    { Call call(1); }
    EXPECT_FALSE(engine.lock.is_owner());
}

TEST_F(Calls, AreNeverTwoAtOnce) {
    constexpr int repetitions = 300, others = 3, calls = 50;
    for (int repetition = 0; repetition < repetitions; repetition++) {
        SetUp();
        count_ = 0;
        std::array<std::thread, others> threads;
        std::atomic<int> ended = 0;
        for (std::thread &thread : threads)
            thread = std::thread([&] {
                for (int i = 0; i < calls; i++) {
                    Call call(1);
                    work();
                }
                ended++;
            });
        int own = 0;
        while (ended < others) {
            Call call(2);
            work();
            own++;
            if (own % 3 == 1) { // a callback calls MPI
                Call inner(3);
                work();
                own++;
            }
            if (own % 4 == 1) { // it waits
                engine.lock.take_back(engine.lock.give_away());
                work();
                own++;
            }
        }
        for (std::thread &thread : threads) thread.join();
        ASSERT_EQ(count_, own + others * calls);
        EXPECT_EQ(node.own->call_status.function, 0U);
    }
}

TEST_F(Calls, ThatSleepAreWokenByAnotherThread) {
    node.wait_policy = WaitPolicy::for_job(2, 1);
    std::atomic<bool> done = false;
    bool was_woken = false;
    std::thread other([&] {
        while (node.own->sleeping == 0) std::this_thread::yield();
        const std::uint32_t seen = node.own->wake;
        Call call(1);
        was_woken = node.own->wake != seen; // and did not wake by itself, later
        done = true;
        engine.wake_own_threads();
    });
    Call call(2);
    for (Wait wait(*node.own, node.wait_policy, node.fences); !done;)
        wait.step([&] { return done.load(); }, engine.lock);
    other.join();
    EXPECT_TRUE(was_woken);
    EXPECT_FALSE(engine.lock.is_owner());
}

} // namespace
} // namespace volley
