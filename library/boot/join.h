// SPDX-License-Identifier: BSD-3-Clause
/// How a process learns which job it belongs to, and maps the memory its ranks share.
#pragma once

#include "boot/job.h"

#include <string>

namespace volley {

/// What a process needs to know of its job.
struct JobPlace {
    ArenaHead *arena = nullptr;
    int rank = 0;
    int ranks = 1;
    int application = 0;
};

/// Asks, in this order: our mpiexec; a launcher that speaks PMI-1; nobody, for a world of one. Throws Error, also where
/// another launcher has started the process as one of several, which this library cannot join.
JobPlace join_job();

/// Tells a launcher that speaks PMI-1, if that started this process, that it ends well. Later calls do nothing.
void leave_job();

/// Asks such a launcher to end the job. Comes back if there is none.
void abort_through_launcher(int code);

} // namespace volley
