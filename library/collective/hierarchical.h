// SPDX-License-Identifier: BSD-3-Clause
/// Blocking collective operations of ranks on several nodes: through memory within a node, and by messages of its
/// leader between nodes (collective/hierarchy.h).
///
/// Ranks may lie on nodes in any order and number. Each function says whether it did the operation; then `code` is its
/// error code. All ranks decide alike: by what the arguments have in common.
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
