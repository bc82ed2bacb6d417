// SPDX-License-Identifier: BSD-3-Clause
/// Starting a rank as an ordinary process.
#pragma once

#include "boot/arena.h"
#include "launch/plan.h"
#include "launch/rank_start.h"

namespace volley::launch {

/// Returns once the program has been entered; its process id is in its record. Throws Error if it cannot be.
void start_process(const Plan &plan, const Arena &arena, int rank, const RankStart &common, const RankStreams &streams);

} // namespace volley::launch
