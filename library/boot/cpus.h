// SPDX-License-Identifier: BSD-3-Clause
/// How many processors this process may use.
#pragma once

#include <cstdint>

namespace volley {

/// The smaller of what the affinity mask and the control group's quota (v1 or v2, this group and those
/// above) allow, rounded up; at least 1.
std::uint32_t usable_cpus();

} // namespace volley
