// SPDX-License-Identifier: BSD-3-Clause
/// Hints on windows: which are kept, and told by MPI_Win_get_info (MPI 5.0, section 12.2.1).
#pragma once

#include <cstddef>

namespace volley {

class Info;
class Window;

inline constexpr std::size_t page_bytes = 4096;

/// Those that a window is made with. `info` may be nullptr.
void set_creation_hints(Window &window, const Info *info);

/// mpi_minimum_memory_alignment, or 1: in bytes, a power of two.
std::size_t alignment_hint(const Info *info);

} // namespace volley
