// SPDX-License-Identifier: BSD-3-Clause
/// Blocking collective operations in the communicator's area (collective/area.h).
///
/// Small data is published. Among ranks that may use each other's pointers, the last to arrive reduces medium data for
/// all, so that each rank has to run only once; large data is read and written in place, by all ranks at once, between
/// two rounds. Other ranks copy large data to the stage, piece by piece, or send messages.
///
/// Each function returns whether it did the operation; if so, `code` is the error code. All ranks decide alike, since
/// they decide by what their arguments must have in common.
#pragma once

#include "collective/plans.h"

namespace volley {

bool shared_barrier(Communicator &communicator, int &code);
bool shared_broadcast(Communicator &communicator, int &code, const Passed &data, int root);
bool shared_gather(Communicator &communicator, int &code, const Passed &own, const Passed &all, int root);
bool shared_gather(Communicator &communicator, int &code, const Passed &own, const PassedEach &all, int root);
bool shared_scatter(Communicator &communicator, int &code, const Passed &all, const Passed &own, int root);
bool shared_scatter(Communicator &communicator, int &code, const PassedEach &all, const Passed &own, int root);
bool shared_allgather(Communicator &communicator, int &code, const Passed &own, const Passed &all);
bool shared_allgather(Communicator &communicator, int &code, const Passed &own, const PassedEach &all);
bool shared_alltoall(Communicator &communicator, int &code, const Passed &from, const Passed &to);
bool shared_alltoall(Communicator &communicator, int &code, const PassedEach &from, const PassedEach &to);
bool shared_reduce(Communicator &communicator, int &code, const PassedOperands &operands, Operation &operation,
                   int root);
bool shared_allreduce(Communicator &communicator, int &code, const PassedOperands &operands, Operation &operation);
bool shared_reduce_scatter_block(Communicator &communicator, int &code, const PassedOperands &operands,
                                 Operation &operation);
bool shared_reduce_scatter(Communicator &communicator, int &code, const PassedOperands &operands, CountArray counts,
                           Operation &operation);
bool shared_scan(Communicator &communicator, int &code, const PassedOperands &operands, Operation &operation,
                 bool exclusive);

} // namespace volley
