// SPDX-License-Identifier: BSD-3-Clause
/// Blocking collective operations of ranks on several nodes: through memory within a node, and by messages of the
/// leaders between nodes (collective/hierarchy.h).
///
/// Ranks may be on nodes in any order and number. Each function returns whether it did the operation; if so, `code` is
/// the error code. All ranks decide alike, since they decide by what their arguments must have in common.
#pragma once

#include "collective/plans.h"

namespace volley {

bool hierarchical_barrier(Communicator &communicator, int &code);
bool hierarchical_broadcast(Communicator &communicator, int &code, const Passed &data, int root);
bool hierarchical_allgather(Communicator &communicator, int &code, const Passed &own, const Passed &all);
bool hierarchical_alltoall(Communicator &communicator, int &code, const Passed &from, const Passed &to);
bool hierarchical_reduce(Communicator &communicator, int &code, const PassedOperands &operands, Operation &operation,
                         int root);
bool hierarchical_allreduce(Communicator &communicator, int &code, const PassedOperands &operands,
                            Operation &operation);

} // namespace volley
