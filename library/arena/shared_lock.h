// SPDX-License-Identifier: BSD-3-Clause
/// A lock in memory that ranks share: plain data, zero means free. It is for sections of microseconds in which nothing
/// can fail and nobody waits. A rank that finds it taken spins for a moment, then yields, since the holder may need the
/// core.
///
/// A rank that is killed inside leaves it taken. The job then ends, and with it the ranks that spin; tools from outside
/// never lock.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace volley {

class SharedLock {
  public:
    void lock() {
        for (int looks = 0; word_.exchange(1, std::memory_order_acquire) != 0; looks++) {
            // Looking without writing leaves the line where it is needed.
            while (word_.load(std::memory_order_relaxed) != 0)
                if (looks++ < looks_before_giving_way)
                    __builtin_ia32_pause();
                else
                    sched_yield();
        }
    }
    void unlock() {
        word_.store(0, std::memory_order_release);
    }

  private:
    static constexpr int looks_before_giving_way = 100;

    std::atomic<std::uint32_t> word_;
};

} // namespace volley
