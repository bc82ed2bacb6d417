// SPDX-License-Identifier: BSD-3-Clause
/// Hints on communicators: which of those that a program gives are kept, and told by MPI_Comm_get_info.
#pragma once

#include <string_view>

namespace volley {

class Communicator;
class Info;

/// Which kinds of memory may be communicated (MPI 5.0, section 12.4.3).
inline constexpr const char *memory_kinds_key = "mpi_memory_alloc_kinds";
inline constexpr const char *memory_kinds = "mpi,system";

/// Keeps what the standard defines for communicators and has a valid value; other keys are ignored, as the
/// standard wants it. Those given before and not named now stay. `hints` may be nullptr.
void set_hints(Communicator &communicator, const Info *hints);

} // namespace volley
