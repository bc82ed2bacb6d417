// SPDX-License-Identifier: BSD-3-Clause
/// What /proc says of a process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace volley::view {

struct ProcessInfo {
    std::string name;
    bool gone;    ///< it has ended, though its parent does not know yet
    bool stopped; ///< by a signal or a debugger
};

/// Nothing if there is no such process.
std::optional<ProcessInfo> process_info(pid_t process);

/// The process that made a job, out of the job's name; 0 if the name is none.
pid_t creator_of(const std::string &job);

} // namespace volley::view
