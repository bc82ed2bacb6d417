// SPDX-License-Identifier: BSD-3-Clause
/// Who has started this job, and who can start another one for it.
#pragma once

#include <cstdint>

namespace volley {

/// Called once the process has joined its job: reads what the launcher says.
void take_origin_of_job();

/// Collective over MPI_COMM_WORLD, in MPI_Init: if this job was started by MPI_Comm_spawn, connects to those that wait
/// for it. Returns an error code.
[[nodiscard]] int connect_to_parent();

/// The number of the socket where mpiexec takes requests (boot/new_job_request.h); 0: there is none.
std::uint32_t launcher_socket();

} // namespace volley
