// SPDX-License-Identifier: BSD-3-Clause
/// How a process learns which job it belongs to, and maps the memory its ranks share.
#pragma once

#include "boot/descriptor.h"
#include "boot/job.h"

#include <string>
#include <vector>

namespace volley {

/// What a process needs to know of its job.
struct JobPlace {
    ArenaHead *arena = nullptr;
    int rank = 0;
    int ranks = 1;
    int application = 0;
    int universe_size = 0; ///< 0: unknown
    /// The sockets where the rank takes connections, if the launcher has made them: one for each address of its host.
    std::vector<Descriptor> listeners = {};
};

/// Finds the job of this process. It asks, in this order, Volley's mpiexec and a launcher that speaks PMI-1 or PMIx
/// (boot/foreign/launcher.h); without either it makes a world of one. Throws Error, also if another launcher has
/// started the process as one of several, which this library cannot join.
JobPlace join_job();

/// If a foreign launcher started this process: tells it that the process ends well. Later calls do nothing.
void leave_job();

/// Asks such a launcher to end the job. Returns if there is none.
void abort_through_launcher(int code);

/// Maps the arena that another process has made, at the address it has there. Throws Error.
ArenaHead *map_as_others(int file, std::uint64_t address);

} // namespace volley
