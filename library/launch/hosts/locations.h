// SPDX-License-Identifier: BSD-3-Clause
/// LAM's words for where a program's ranks run: `mpirun C solver`, `mpirun N solver`, `mpirun n0-3,5 solver`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/command_line.h"

namespace volley::launch {

/// C: a rank for each slot; N: one for each host; n0-3,5: one for each of these hosts; c0-3,5: one for each of these
/// slots.
bool is_location(const std::string &word);

/// The host of each rank of the line, by its index in the line's hosts. Where programs name locations, sets how many
/// ranks they have, unless -n said it: then the locations are gone through again and again. Throws Error.
std::vector<std::int32_t> place_ranks(CommandLine &line);

} // namespace volley::launch
