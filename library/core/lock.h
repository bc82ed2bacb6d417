// SPDX-License-Identifier: BSD-3-Clause
/// The lock of a rank: one thread at a time is inside the library, whatever level of thread support it was started
/// with. Functions that are allowed at any time, and sessions of different levels, bring threads together of which
/// none knows of the others.
///
/// Recursive, since the program's callbacks (attributes, reductions, error handlers) may call MPI again, and given
/// away entirely while its holder waits. Threads of one rank only: ranks never lock each other out.
///
/// A program of one thread does not pay for it. Below MPI_THREAD_MULTIPLE the thread that starts the library is its
/// *owner*: it enters and leaves with plain stores, until another thread comes. That one takes the ownership away, for
/// good, and waits until the owner has left or takes the lock, which it does where it waits:
///
///     owner                            another thread
///     inside = function                owner_ = nobody
///     ---- light fence ----            ---- heavy fence (wait/sleep.h) ----
///     am I still the owner?            if inside: wait until it leaves or takes the lock
///
/// lock.pml models this; lock_test.cpp stresses it. Where the kernel offers no such fence there are no owners.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace volley {

class Lock {
  public:
    /// From the end of its outermost call on, the calling thread, which holds the lock, is the owner, unless another
    /// thread has come before. `inside` is not 0 as long as the owner is in a call.
    void make_owner(const std::atomic<std::uint32_t> &inside);
    /// The calling thread takes the lock if it was inside as the owner. From now on nobody is.
    void end_ownership();
    /// The same, and nobody will be.
    void share_for_good();

    /// Whether the calling thread may enter, or be inside, without the lock.
    bool is_owner() const {
        return owner_.load(std::memory_order_relaxed) == __builtin_thread_pointer();
    }
    /// Whether several threads may use the library.
    bool is_shared() const {
        return owner_.load(std::memory_order_relaxed) == nullptr;
    }

    void acquire();
    void release();
    /// What was entered as the owner ends: it was taken away meanwhile.
    void leave_as_owner();

    /// Whether another thread wants to enter.
    bool contended() const {
        return waiting_.load(std::memory_order_relaxed) != 0;
    }

    /// Gives the lock away, however often it was acquired; returns that number for take_back(), 0 if it was not held.
    std::int32_t give_away();
    void take_back(std::int32_t depth);

  private:
    using Guard = std::unique_lock<std::mutex>;

    static const void *self() {
        return __builtin_thread_pointer();
    }
    bool is_free() const;
    void hold(std::int32_t depth);
    void take(Guard &guard, std::int32_t depth);
    void take_ownership_away(Guard &guard);
    bool is_inside_as_owner() const;
    void settle(std::int32_t depth);
    void wait_for_step(Guard &guard, std::uint32_t seen);
    void step();

    std::atomic<const void *> owner_{nullptr};
    std::atomic<std::int32_t> waiting_{0};

    std::mutex mutex_; ///< held by the holder all the time; by others only to look
    std::atomic<const void *> holder_{nullptr};
    std::int32_t depth_ = 0;
    // Read and written under the mutex.
    const std::atomic<std::uint32_t> *inside_ = nullptr;
    const void *only_ = nullptr;          ///< the thread that is to be the owner; or `several`
    const void *former_ = nullptr;        ///< who was the owner
    bool former_is_settled_ = true;       ///< it is known to be outside, or to do as all others do
    std::atomic<std::uint32_t> steps_{0}; ///< changed after what others wait for to settle it
};

} // namespace volley
