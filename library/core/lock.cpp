// SPDX-License-Identifier: BSD-3-Clause
#include "core/lock.h"

#include "transport/node.h"

namespace volley {
namespace {

/// Lock::only_ once a second thread has come.
constexpr char several = 0;

} // namespace

void Lock::make_owner(const std::atomic<std::uint32_t> &inside) {
    if (node.fences != FenceKind::global_barrier) return;
    inside_ = &inside;
    if (only_ == nullptr) only_ = self();
}

void Lock::end_ownership() {
    if (is_owner()) {
        mutex_.lock();
        // Another thread may have ended the ownership in the meantime. It waits for this thread, so the end is the
        // same.
        owner_.store(nullptr, std::memory_order_relaxed);
        settle(1);
    }
    inside_ = nullptr;
}

void Lock::share_for_good() {
    end_ownership();
    only_ = &several;
}

/// Called by the former owner, with the mutex: from now on it is inside as a holder of the lock.
void Lock::settle(std::int32_t depth) {
    holder_.store(self(), std::memory_order_relaxed);
    depth_ = depth;
    function_ = inside_->load(std::memory_order_relaxed);
    former_is_settled_ = true;
    step();
}

void Lock::step() {
    steps_.fetch_add(1, std::memory_order_release);
    steps_.notify_all();
}

/// `seen` is the number of steps that the caller read, with the mutex, before it checked whether it must wait.
void Lock::wait_for_step(Guard &guard, std::uint32_t seen) {
    guard.unlock();
    steps_.wait(seen, std::memory_order_acquire);
    guard.lock();
}

/// Whether the calling thread is inside without the lock though its ownership has been taken away.
bool Lock::is_inside_as_owner() const {
    return !former_is_settled_ && former_ == self() && inside_->load(std::memory_order_relaxed) != 0;
}

void Lock::take_ownership_away(Guard &guard) {
    const std::atomic<std::uint32_t> &inside = *inside_;
    only_ = &several;
    former_ = owner_.load(std::memory_order_relaxed);
    former_is_settled_ = false;
    owner_.store(nullptr, std::memory_order_relaxed);
    guard.unlock();
    heavy_fence();
    // From here on the former owner sees the change whenever it checks. It may have checked before it went to sleep, so
    // it is woken.
    if (inside.load(std::memory_order_acquire) != 0) wake(*node.own, node.fences);
    guard.lock();
    for (;;) {
        const std::uint32_t seen = steps_.load(std::memory_order_acquire);
        if (former_is_settled_ || inside.load(std::memory_order_acquire) == 0) break;
        wait_for_step(guard, seen);
    }
    former_is_settled_ = true;
    step();
}

/// True if no thread is inside or may enter without the lock. The caller has the mutex.
bool Lock::is_free() const {
    return former_is_settled_ && owner_.load(std::memory_order_relaxed) == nullptr;
}

void Lock::hold(std::int32_t depth) {
    if (only_ != nullptr && only_ != self()) only_ = &several;
    holder_.store(self(), std::memory_order_relaxed);
    depth_ = depth;
}

void Lock::take(Guard &guard, std::int32_t depth) {
    for (;;) {
        if (is_inside_as_owner()) return settle(1 + depth); // 1: the outer call began without the lock
        const std::uint32_t seen = steps_.load(std::memory_order_acquire);
        if (is_free()) return hold(depth);
        if (former_is_settled_)
            take_ownership_away(guard);
        else
            wait_for_step(guard, seen);
    }
}

void Lock::acquire() {
    if (is_held()) {
        depth_++;
        return;
    }
    if (!try_acquire()) {
        waiting_.fetch_add(1, std::memory_order_relaxed);
        Guard guard(mutex_);
        take(guard, 1);
        waiting_.fetch_sub(1, std::memory_order_relaxed);
        guard.release();
    }
    acquisitions_.store(acquisitions() + 1, std::memory_order_relaxed); // the holder's alone
}

bool Lock::try_acquire() {
    Guard guard(mutex_, std::try_to_lock);
    if (!guard || !is_free()) return false;
    hold(1);
    guard.release(); // it stays locked
    return true;
}

void Lock::release() {
    if (--depth_ != 0) return;
    if (only_ == self() && inside_ != nullptr) owner_.store(self(), std::memory_order_relaxed);
    holder_.store(nullptr, std::memory_order_relaxed);
    mutex_.unlock();
}

void Lock::leave_as_owner() {
    if (is_held()) return release(); // it took the lock while it waited
    step();
}

std::int32_t Lock::give_away() {
    if (is_owner()) return 0;
    if (!is_held()) {
        Guard guard(mutex_);
        if (!is_inside_as_owner()) return 0;
        settle(1);
        guard.release(); // it stays locked
    }
    std::int32_t depth = depth_;
    depth_ = 0;
    holder_.store(nullptr, std::memory_order_relaxed);
    mutex_.unlock();
    return depth;
}

void Lock::take_back(std::int32_t depth) {
    if (depth == 0) return;
    waiting_.fetch_add(1, std::memory_order_relaxed);
    Guard guard(mutex_);
    take(guard, depth);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    guard.release();
}

} // namespace volley
