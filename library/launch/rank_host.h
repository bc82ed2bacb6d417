// SPDX-License-Identifier: BSD-3-Clause
/// The rank host process: it places ranks in a shared address space, which is its own, a copy of mpiexec's.
///
/// The process maps program and interpreter for each rank, builds the rank's stack, clones the rank, and ends; the
/// address space lives on in the ranks. Ranks are children of mpiexec, not of the rank host (CLONE_PARENT). So mpiexec
/// waits for ranks of every kind alike, and ranks notice mpiexec's end, while no rank can write into mpiexec's memory.
#pragma once

#include <vector>

#include "boot/arena.h"
#include "launch/plan.h"
#include "launch/rank_start.h"

namespace volley::launch {

/// Starts the host of one address space (a number from 1) in a process of its own; returns its process id.
/// It ends with status 0 once all its ranks are started, and otherwise says why not. `common` has what is the
/// same for all ranks; `streams` is by rank. Throws Error.
pid_t start_rank_host(const Plan &plan, const Arena &arena, std::uint32_t space, const RankStart &common,
                      const std::vector<RankStreams> &streams);

} // namespace volley::launch
