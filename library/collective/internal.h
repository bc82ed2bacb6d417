// SPDX-License-Identifier: BSD-3-Clause
/// Collective operations for the library's own use, for instance to agree on a new communicator.
///
/// They run over Traffic::collective, in order with the program's collectives on the same communicator, and wait
/// until done. Those of the first part want an intracommunicator. All return an error code.
#pragma once

#include "core/communicator.h"
#include "layout/checked.h"

#include <cstdint>
#include <vector>

namespace volley {

/// `bytes` is the same on all ranks.
int broadcast(void *data, Count bytes, int root, Communicator &communicator);

/// `all` receives `bytes_each` bytes of every rank, in the order of ranks.
int allgather(const void *mine, Count bytes_each, void *all, Communicator &communicator);

int barrier(Communicator &communicator);

/// Element by element, in place.
int allreduce_max(std::int64_t *values, Count count, Communicator &communicator);
int allreduce_min(std::int64_t *values, Count count, Communicator &communicator);
int allreduce_sum(std::int64_t *values, Count count, Communicator &communicator);
/// For MPI_Comm_split and agreement on bits.
int allreduce_and(std::int64_t *values, Count count, Communicator &communicator);

/// The neighbours that MPI_Neighbor_... uses, in its order (MPI 5.0, section 8.6), MPI_PROC_NULL at borders that
/// are not periodic. MPI_ERR_TOPOLOGY if the communicator has no topology.
int neighbour_lists(const Communicator &communicator, std::vector<int> &sources, std::vector<int> &destinations);

} // namespace volley
