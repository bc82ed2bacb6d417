// SPDX-License-Identifier: BSD-3-Clause
/// mpiexec --check: what it would do with a program, as JSON, for `volley check` and `volley env`.
#pragma once

#include <string>

#include "launch/command_line.h"

namespace volley::launch {

/// Looks at the program of the command line, if it names one, and starts nothing. Throws Error if there is no such
/// program.
std::string check_text(const CommandLine &line);

} // namespace volley::launch
