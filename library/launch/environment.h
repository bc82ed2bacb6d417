// SPDX-License-Identifier: BSD-3-Clause
/// The environment variables of ranks, as lists of "NAME=VALUE".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/command_line.h"

namespace volley::launch {

/// mpiexec's own environment as far as it is passed on, with the settings of the command line.
std::vector<std::string> application_environment(const CommandLine &line, const Application &application);

/// Adds settings with which glibc's malloc keeps memory that it has got from the system: in a shared address space,
/// giving memory back interrupts all ranks. The user's own settings stay.
void keep_memory(std::vector<std::string> &environment);

/// What Open MPI's, MPICH's and Intel's launchers tell a rank by, and scripts read: its number and that of all ranks,
/// in the job and on this machine.
struct RankNumbers {
    int rank, ranks;
    int local_rank, local_ranks;
};
void set_familiar_variables(std::vector<std::string> &variables, const RankNumbers &numbers);

std::optional<std::string> find_variable(const std::vector<std::string> &environment, const std::string &name);
void set_variable(std::vector<std::string> &environment, const std::string &name, const std::string &value);

} // namespace volley::launch
