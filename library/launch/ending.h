// SPDX-License-Identifier: BSD-3-Clause
/// What the end of a rank means for the job, and how it is told.
#pragma once

#include <string>

#include "boot/job.h"

namespace volley::launch {

/// Exit status for the shell of a status as waitpid gives it: 128 + the number of a signal.
int shell_status(int wait_status);

/// The same of a signal's number.
int signal_status(int number);

/// Whether a rank that ends in this state leaves the others waiting for it.
bool ends_job(RankState state);

/// "rank 2 (./solver, process 4711)"; with a host, "process 4711 on node3".
std::string describe_rank(int rank, const std::string &program, const std::string &host, const RankRecord &record);

/// A rank so described "... was ended by signal 11 (SIGSEGV) in MPI_Recv".
std::string describe_end(const std::string &rank, const RankRecord &record, RankState state, int wait_status);

/// Exit status for the shell of a code given to MPI_Abort: not 0 unless the code is.
int abort_status(int code);

} // namespace volley::launch
