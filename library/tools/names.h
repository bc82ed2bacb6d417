// SPDX-License-Identifier: BSD-3-Clause
/// Names for what ranks publish as numbers, and how times and lists of ranks are written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace volley::view {

/// "MPI_Recv"; for the _c form the plain one's, as users of other languages know no other.
std::string function_name(std::uint32_t function);

/// Whether it is a collective operation in its blocking form.
bool is_collective(std::uint32_t function);

/// "MPI_INT"; "a derived type" for what is not predefined; empty for none.
std::string datatype_name(std::uintptr_t handle);

/// "12.3 s", "4 min 5 s".
std::string duration(double seconds);

/// "rank 3", "ranks 0, 2 and 3"; many of them in ranges: "ranks 0-6 and 8".
std::string ranks_text(const std::vector<int> &ranks);

} // namespace volley::view
