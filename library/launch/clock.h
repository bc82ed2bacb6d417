// SPDX-License-Identifier: BSD-3-Clause
/// The clock of the launcher's deadlines.
#pragma once

#include <algorithm>
#include <chrono>

namespace volley::launch {

using Clock = std::chrono::steady_clock;

/// As poll() takes it: 0 if it is over.
inline int milliseconds_until(Clock::time_point time) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now());
    return std::max(0, static_cast<int>(left.count()));
}

} // namespace volley::launch
