// SPDX-License-Identifier: BSD-3-Clause
/// Communication between both groups of an intercommunicator, through their ranks 0, the leaders.
#pragma once

#include "communicator/context_allocation.h"

#include <cstdint>
#include <vector>

namespace volley {

/// The connection between the leaders, for a context allocation in which all of both groups take part.
ContextAllocation::RemoteRoot bridge_between_leaders(Communicator &inter);

/// Collective over both groups: `remote` becomes what the other group's leader passed as `own`. What ranks other than
/// the leaders pass does not matter.
int swap_with_remote(Communicator &inter, const std::vector<std::int32_t> &own, std::vector<std::int32_t> &remote);

/// Collective over both groups: makes the intercommunicator of some ranks of the local and of the remote group; both
/// groups name the same ranks. `made` is nullptr in processes that are not among them, and if one side is empty.
/// Returns an error code.
int make_inter_subset(Communicator &inter, const std::vector<int> &local, const std::vector<int> &remote,
                      Communicator *&made);

/// Returns when all processes of the communicator, of either kind, have called it.
int meet(Communicator &communicator);

} // namespace volley
