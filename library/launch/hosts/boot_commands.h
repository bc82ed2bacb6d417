// SPDX-License-Identifier: BSD-3-Clause
/// `volley boot`, `volley nodes`, `volley clean` and `volley halt`, which are `mpiexec --boot` and so on: daemons that
/// stay on hosts from job to job (resident_daemon.h).
#pragma once

#include <string>
#include <vector>

namespace volley::launch {

/// Whether the first argument is the option of such a command.
bool is_boot_command(const std::vector<std::string> &arguments);

/// "volley boot": what messages of that command begin with.
std::string name_of_boot_command(const std::vector<std::string> &arguments);

/// Returns the exit status. Throws Error.
int run_boot_command(const std::vector<std::string> &arguments);

} // namespace volley::launch
