// SPDX-License-Identifier: BSD-3-Clause
/// The lock of a rank: one thread at a time is inside the library, whatever level of thread support it was started
/// with. All levels need it, because functions that may be called at any time, and sessions of different levels, can
/// bring in threads that do not know of each other.
///
/// The lock is recursive, since the program's callbacks (attributes, reductions, error handlers) may call MPI again.
/// Its holder gives it away entirely while it waits. It concerns the threads of one rank only: ranks never lock each
/// other out.
///
/// A program of one thread does not pay for the lock. Below MPI_THREAD_MULTIPLE the thread that starts the library is
/// the *owner*: it enters and leaves with plain stores, until another thread comes. The other thread ends the ownership
/// for good. It then waits until the former owner has left the library, or has taken the lock, which the former owner
/// does wherever it waits:
///
///     owner                            another thread
///     inside = function                owner_ = nobody
///     ---- light fence ----            ---- heavy fence (wait/sleep.h) ----
///     am I still the owner?            if inside: wait until it leaves or takes the lock
///
/// lock.pml models this protocol; lock_test.cpp and abi/call_test.cpp stress it. Where the kernel has no heavy fence,
/// there are no owners.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace volley {

class Lock {
  public:
    /// Makes the calling thread, which holds the lock, the owner from the end of its outermost call on, unless another
    /// thread has come before. `inside` must not be 0 while the owner is in a call.
    void make_owner(const std::atomic<std::uint32_t> &inside);
    /// Ends any ownership. The calling thread takes the lock if it was inside as the owner.
    void end_ownership();
    /// Ends any ownership, and lets no thread become the owner again.
    void share_for_good();

    /// Whether the calling thread may enter, and be inside, without the lock.
    bool is_owner() const {
        return owner_.load(std::memory_order_relaxed) == __builtin_thread_pointer();
    }
    /// Whether several threads may use the library.
    bool is_shared() const {
        return owner_.load(std::memory_order_relaxed) == nullptr;
    }

    void acquire();
    /// False if another thread has it, or is the owner. Not for threads that have it.
    bool try_acquire();
    void release();
    /// How often acquire() has given the lock to a thread that did not have it.
    std::uint64_t acquisitions() const {
        return acquisitions_.load(std::memory_order_relaxed);
    }
    /// The function that the threads with the lock are in, which its holder publishes: what is read from where it is
    /// published may be of an owner that has just come and will find that it is none any more.
    std::uint32_t function() const {
        return function_;
    }
    void set_function(std::uint32_t function) {
        function_ = function;
    }
    bool is_held() const {
        return holder_.load(std::memory_order_relaxed) == self();
    }
    /// Ends a call that was entered as the owner, after another thread has ended the ownership.
    void leave_as_owner();

    /// Whether another thread wants to enter.
    bool contended() const {
        return waiting_.load(std::memory_order_relaxed) != 0;
    }

    /// Releases the lock entirely, however often it was acquired. Returns that number for take_back(); 0 if the lock
    /// was not held.
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

    std::mutex mutex_; ///< the holder keeps it locked; other threads lock it only to look at the fields below
    std::atomic<const void *> holder_{nullptr};
    std::int32_t depth_ = 0;
    std::atomic<std::uint64_t> acquisitions_{0};
    std::uint32_t function_ = 0;
    // Read and written under the mutex.
    const std::atomic<std::uint32_t> *inside_ = nullptr;
    const void *only_ = nullptr;          ///< the thread that may become the owner; or `several`
    const void *former_ = nullptr;        ///< the former owner
    bool former_is_settled_ = true;       ///< the former owner is known to be outside, or to use the lock
    std::atomic<std::uint32_t> steps_{0}; ///< changes when the former owner may have settled
};

} // namespace volley
