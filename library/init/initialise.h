// SPDX-License-Identifier: BSD-3-Clause
/// The library's life in a process: it joins the job when first needed, by MPI_Init or by a session.
#pragma once

#include <optional>

namespace volley {

/// MPI_Init and each MPI_Session_init: joins the job if nobody has yet. Returns an error code; after an error nothing
/// is acquired. The level of thread support only ever rises. Who asks for none gets the highest; the process begins as
/// one of a single thread then, which costs less as long as it stays one.
[[nodiscard]] int acquire_library(std::optional<int> thread_level);

/// Undoes one acquire_library(). The last call waits until others have what this rank has sent.
void release_library();

} // namespace volley
