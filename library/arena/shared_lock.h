// SPDX-License-Identifier: BSD-3-Clause
/// A lock in memory that ranks share: plain data, zero means free. It is for sections of microseconds in which nothing
/// can fail and nobody waits. A rank that finds it taken spins for a moment, then yields, since the holder may need the
/// core.
///
/// A rank that is killed inside leaves it taken, and what it guards maybe half changed. The job then ends, and with it
/// the ranks that spin. If the job outlives ranks that fail, a rank that spins asks now and then whether the holder is
/// gone, and ends the job if so. Tools from outside never lock.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace volley {

class SharedLock {
  public:
    void lock() {
        std::uint32_t holder = 0;
        for (int looks = 0;
             !word_.compare_exchange_strong(holder, own, std::memory_order_acquire, std::memory_order_relaxed);
             looks++, holder = 0) {
            // Looking without writing leaves the line where it is needed.
            while ((holder = word_.load(std::memory_order_relaxed)) != 0)
                if (looks++ < looks_before_giving_way) {
                    __builtin_ia32_pause();
                } else {
                    if (look_after_holder != nullptr) look_after_holder(holder);
                    sched_yield();
                }
        }
    }
    void unlock() {
        word_.store(0, std::memory_order_release);
    }

    /// What marks this process's locks: 1 + its rank.
    static inline std::uint32_t own = 1;
    /// Called with the mark of a holder that keeps a lock for long; ends the job if that holder is gone.
    static inline void (*look_after_holder)(std::uint32_t holder) = nullptr;

  private:
    static constexpr int looks_before_giving_way = 100;

    std::atomic<std::uint32_t> word_;
};

} // namespace volley
