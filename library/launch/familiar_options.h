// SPDX-License-Identifier: BSD-3-Clause
/// Options that command lines for Open MPI's, MPICH's and Intel's mpirun carry, so that scripts need no change. Where
/// one means something here it is done; the others are taken, and named once as not needed.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/command_line.h"

namespace volley::launch {

/// Takes the option called `name`, as `typed`, if it is one of these; `value` gives the option's next value. False if
/// it is none of them. Throws Error for a value that it cannot have.
bool take_familiar_option(std::string_view name, const std::string &typed,
                          const std::function<const std::string &()> &value, CommandLine &line,
                          Application &application);

/// Remembers an option, with its values, that means nothing here.
void add_not_needed(CommandLine &line, std::string option);

/// The one of `own` and of these names that a mistyped name is most like; empty if it is like none.
std::string nearest_option(std::string_view name, const std::vector<std::string_view> &own);

/// For standard error: what was not needed; empty if that is nothing, or if nobody wants to know.
std::string describe_not_needed(const CommandLine &line);

} // namespace volley::launch
