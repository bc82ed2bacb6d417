// SPDX-License-Identifier: BSD-3-Clause
/// Jobs that ranks have started (MPI_Comm_spawn). Each has an mpiexec of its own, a child of this one, which writes to
/// the same output and ends with this one. mpiexec stays until all of them have ended.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "boot/arena.h"
#include "boot/descriptor.h"
#include "boot/new_job_request.h"
#include "launch/signals.h"

namespace volley::launch {

class FurtherJobs {
  public:
    /// `options` of mpiexec hold for further jobs, too. Throws Error.
    FurtherJobs(const Arena &arena, const Signals &signals, std::vector<std::string> options);

    /// For environment::launcher.
    [[nodiscard]] std::uint32_t socket() const {
        return number_;
    }
    void watch(std::vector<pollfd> &watched) const;
    /// Starts the jobs that have been asked for.
    void advance();
    /// Whether that process was one of them; it has ended.
    bool ended(pid_t process);
    [[nodiscard]] bool any_running() const {
        return !running_.empty();
    }
    void signal(int number) const;

  private:
    void start(const NewJobRequest &request, const Descriptor &connection);

    const Arena &arena_;
    const Signals &signals_;
    std::vector<std::string> options_;
    std::uint32_t number_ = 0;
    Descriptor listener_;
    std::vector<pid_t> running_;
};

/// In an mpiexec that was started for a further job: it ends with the mpiexec that has started it. Returns where it
/// says why it could not start the job; an empty Descriptor in any other mpiexec.
Descriptor begin_further_job();

} // namespace volley::launch
