// SPDX-License-Identifier: BSD-3-Clause
#include "core/lock.h"

namespace volley {
namespace {

thread_local char identity; ///< its address names the thread

} // namespace

void Lock::acquire_slowly() {
    if (holder_.load(std::memory_order_relaxed) != &identity) {
        waiting_.fetch_add(1, std::memory_order_relaxed);
        mutex_.lock();
        waiting_.fetch_sub(1, std::memory_order_relaxed);
        holder_.store(&identity, std::memory_order_relaxed);
    }
    depth_++;
}

void Lock::release_slowly() {
    if (--depth_ != 0) return;
    holder_.store(nullptr, std::memory_order_relaxed);
    mutex_.unlock();
}

std::int32_t Lock::give_away() {
    if (!enabled_) return 0;
    std::int32_t depth = depth_;
    depth_ = 0;
    holder_.store(nullptr, std::memory_order_relaxed);
    mutex_.unlock();
    return depth;
}

void Lock::take_back(std::int32_t depth) {
    if (!enabled_) return;
    waiting_.fetch_add(1, std::memory_order_relaxed);
    mutex_.lock();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    holder_.store(&identity, std::memory_order_relaxed);
    depth_ = depth;
}

} // namespace volley
