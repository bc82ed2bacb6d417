// SPDX-License-Identifier: BSD-3-Clause
/// What tools find of a job on several hosts where its mpiexec runs: an arena in outline, with the job's head and the
/// names of its hosts, and no memory of ranks. Those have the arenas of their own hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "boot/arena.h"
#include "boot/descriptor.h"

namespace volley::launch {

/// The file, which is closed by exec and which nobody maps; `layout.own` is a number that no node has. Empty if the
/// system refuses it: then tools find nothing here.
Descriptor make_outline(const JobLayout &layout, const std::vector<std::string> &hosts, std::uint32_t look_socket);

} // namespace volley::launch
