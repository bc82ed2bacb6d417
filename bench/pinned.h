// SPDX-License-Identifier: BSD-3-Clause
/// What benchmarks of two threads share.
#pragma once

#include <chrono>
#include <pthread.h>

/// The calling thread stays on that processor.
inline void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

inline double now_ns() {
    return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count());
}
