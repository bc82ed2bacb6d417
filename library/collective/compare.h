// SPDX-License-Identifier: BSD-3-Clause
/// The checking mode (environment variable VOLLEY_CHECK): ranks compare what they are about to do together.
#pragma once

#include "core/communicator.h"
#include "layout/checked.h"

#include <mpi.h>

#include <cstdint>

namespace volley {

/// Before a blocking collective: all ranks of an intracommunicator must call the same function (number in the table),
/// with the same root and, where one count and one datatype say so, the same amount of data. Costs a collective
/// operation of its own. Non-blocking and neighbourhood collectives are not compared. MPI_ERR_OTHER, on all ranks,
/// with who calls what.
int compare_collective(Communicator &communicator, std::uint32_t function, int root, Count count,
                       MPI_Datatype datatype);

} // namespace volley
