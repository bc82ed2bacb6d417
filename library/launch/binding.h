// SPDX-License-Identifier: BSD-3-Clause
/// Which processors each rank may run on.
///
/// If there are at least as many processors as ranks, each rank gets a share of the cores, so that its threads have
/// room, and no processor goes to two ranks. With fewer, the system's scheduler does better than any fixed choice.
#pragma once

#include <vector>

#include "boot/cpus.h"
#include "launch/command_line.h"

namespace volley::launch {

/// For each rank the numbers of its processors: whole cores if there are enough of them. Needs as many processors as
/// ranks.
std::vector<std::vector<int>> share_processors(std::vector<Processor> processors, int ranks);

/// A mask of processors as sched_setaffinity takes it.
using ProcessorMask = std::vector<unsigned long>;

/// By rank; empty if ranks are not bound. Throws Error if they must be and cannot.
std::vector<ProcessorMask> bind_ranks(Binding binding, int ranks);

} // namespace volley::launch
