// SPDX-License-Identifier: BSD-3-Clause
/// Which library this is, to the bit.
#pragma once

#include <cstdint>

namespace volley {

/// The first eight bytes of the build id that the linker gave the file this code was loaded from; 0 if it has none. It
/// changes with each difference in the file.
std::uint64_t build_id();

} // namespace volley
