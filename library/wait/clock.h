// SPDX-License-Identifier: BSD-3-Clause
/// Time as all ranks of a host see it.
#pragma once

#include <cstdint>
#include <ctime>

namespace volley {

/// Nanoseconds of a clock that all processes share.
inline std::uint64_t clock_ns(clockid_t clock = CLOCK_MONOTONIC) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Ticks of a counter that is quick to read; their length is the machine's.
inline std::uint64_t clock_ticks() {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    return __builtin_ia32_rdtsc();
#else
    return clock_ns();
#endif
}

} // namespace volley
