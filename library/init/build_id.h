// SPDX-License-Identifier: BSD-3-Clause
/// Which library this is, to the bit.
#pragma once

#include <cstdint>

namespace volley {

/// The first eight bytes of the linker's build id of the file this code was loaded from, which changes with each
/// difference in it; 0 if it has none.
std::uint64_t build_id();

} // namespace volley
