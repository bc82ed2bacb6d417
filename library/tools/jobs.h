// SPDX-License-Identifier: BSD-3-Clause
/// Finding the running jobs of this machine. The memory that a job's ranks share is a file in no folder, but mpiexec
/// (or rank 0, under another launcher) has it open, and /proc shows open files.
#pragma once

#include "boot/descriptor.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace volley::view {

struct Job {
    std::string name; ///< "volley-4711-..."
    pid_t creator;    ///< mpiexec, or rank 0
    /// That of this host, and the outline that mpiexec of a job on several hosts has (launch/hosts/outline.h); those
    /// with ranks come first. There are more where emulated hosts share a table of processes.
    std::vector<Descriptor> arenas;
    std::vector<pid_t> holders; ///< processes that have one open
};

struct Search {
    std::vector<Job> jobs; ///< by creator
    int forbidden = 0;     ///< processes that could not be looked into
};

/// All jobs whose memory may be read.
Search find_jobs();

/// Keeps the jobs that `wanted` names: by the process id of mpiexec or of a rank, or by a job's name. Throws
/// Unreadable, with the reason, if it names none.
void choose(Search &search, const std::string &wanted);

} // namespace volley::view
