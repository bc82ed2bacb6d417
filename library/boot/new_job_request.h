// SPDX-License-Identifier: BSD-3-Clause
/// How a rank asks its mpiexec to start a further job. mpiexec listens at a socket in Linux's abstract namespace, whose
/// number its ranks find in their environment. Only processes of the same user are heard, and their request begins with
/// the job's secret. The mpiexec that is started for
/// the new job inherits the rank's connection (environment::report): it writes there why it could not start the job, if
/// so, and closes it when it ends.
#pragma once

#include "boot/descriptor.h"
#include "boot/job.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace volley {

namespace environment {
inline constexpr const char *launcher = "VOLLEY_LAUNCHER"; ///< decimal: number of mpiexec's socket
inline constexpr const char *parent = "VOLLEY_PARENT";     ///< the port where those wait that have started this job
inline constexpr const char *report = "VOLLEY_REPORT_FD";  ///< of mpiexec: decimal, an inherited socket
} // namespace environment

/// What a rank finds in its environment. It is taken out of there, since children of a rank are not ranks.
struct Origin {
    std::uint32_t launcher = 0; ///< 0: no mpiexec that takes requests
    std::string parent;         ///< empty: nobody waits for this job
};
Origin take_origin();

struct NewJobRequest {
    std::vector<std::string> words; ///< mpiexec's arguments
    std::string port;               ///< environment::parent of the ranks
};

/// A variable of an environment ("NAME=value") that belongs to one new job alone.
bool is_of_new_job(std::string_view variable);

/// mpiexec's end: a listening socket, and its number. Throws Error.
Descriptor listen_as_launcher(std::uint32_t &number);
/// The rank's end. Throws Error.
Descriptor connect_to_launcher(std::uint32_t number);
/// False if it cannot be sent.
bool send_request(const Descriptor &socket, const ArenaHead &arena, const NewJobRequest &request);
/// Nothing if what comes is no request of that job, or does not come in time.
std::optional<NewJobRequest> receive_request(const Descriptor &socket, const ArenaHead &arena);

} // namespace volley
