// SPDX-License-Identifier: BSD-3-Clause
/// What both groups of an intercommunicator tell each other: through their ranks 0, the leaders.
#pragma once

#include "communicator/context_allocation.h"

#include <cstdint>
#include <vector>

namespace volley {

/// The way between the leaders of both groups, for an agreement in which all of both take part.
ContextAllocation::RemoteRoot bridge_between_leaders(Communicator &inter);

/// Collective over both groups: the words of the other leader. Those of others than the leaders do not matter.
int swap_with_remote(Communicator &inter, const std::vector<std::int32_t> &own, std::vector<std::int32_t> &remote);

/// Collective over both groups: the intercommunicator of some ranks of the local and of the remote group; both
/// name the same. nullptr in processes that are not among them, and if one side is empty. An error code.
int make_inter_subset(Communicator &inter, const std::vector<int> &local, const std::vector<int> &remote,
                      Communicator *&made);

/// Returns when all processes of the communicator, of either kind, have called it.
int meet(Communicator &communicator);

} // namespace volley
