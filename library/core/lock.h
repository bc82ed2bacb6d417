// SPDX-License-Identifier: BSD-3-Clause
/// The lock of a rank: with MPI_THREAD_MULTIPLE, one thread at a time is inside the library.
///
/// Recursive, since the program's callbacks (attributes, reductions, error handlers) may call MPI again, and given
/// away entirely while its holder waits. Threads of one rank only: ranks never lock each other out.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace volley {

class Lock {
  public:
    /// Off (the beginning): acquire() and release() do nothing.
    void enable() {
        enabled_ = true;
    }
    bool enabled() const {
        return enabled_;
    }

    void acquire() {
        if (enabled_) [[unlikely]]
            acquire_slowly();
    }
    void release() {
        if (enabled_) [[unlikely]]
            release_slowly();
    }

    /// Whether another thread wants to enter.
    bool contended() const {
        return waiting_.load(std::memory_order_relaxed) != 0;
    }

    /// Gives the lock away, however often it was acquired; returns that number for take_back().
    std::int32_t give_away();
    void take_back(std::int32_t depth);

  private:
    void acquire_slowly();
    void release_slowly();

    std::mutex mutex_;
    std::atomic<const void *> holder_{nullptr}; ///< address of a thread-local of the holding thread
    std::atomic<std::int32_t> waiting_{0};
    std::int32_t depth_ = 0;
    bool enabled_ = false;
};

} // namespace volley
