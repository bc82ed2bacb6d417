// SPDX-License-Identifier: BSD-3-Clause
/// Blocking collective operations in the communicator's area.
///
/// Small data is published there. Among ranks that may use each other's pointers, the last to come reduces medium data
/// for all, so that everyone has to run once; large data is read and written where it lies, by all ranks at once,
/// between two rounds. Other ranks bring it to a stage, piece by piece, or send messages.
///
/// Each function says whether it did the operation; then `code` is its error code. All ranks decide alike: by what
/// the arguments have in common.
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
