// SPDX-License-Identifier: BSD-3-Clause
/// The process group of the ranks: one address for a signal to all of them and what they have started.
#pragma once

#include <sys/types.h>

#include <vector>

namespace volley::launch {

/// The ranks have a process group of their own, so that a signal from the terminal to mpiexec's group reaches them
/// once: from mpiexec. The group's number stays taken until this object is destroyed, so that no signal can hit a
/// stranger.
class ProcessGroup {
  public:
    ProcessGroup();
    ProcessGroup(const ProcessGroup &) = delete;
    ProcessGroup &operator=(const ProcessGroup &) = delete;
    /// Nothing is left behind: kills what remains, as end_all.
    ~ProcessGroup();

    [[nodiscard]] pid_t id() const {
        return id_;
    }
    void signal(int number) const;

    /// Kills and reaps all processes of the job that are left, also those that left the group: mpiexec
    /// inherits orphans (it is their "subreaper").
    static void end_all(pid_t group);

  private:
    pid_t id_ = 0;
};

/// Those of this process, which has one thread.
std::vector<pid_t> own_children();

/// Kills and reaps them and, if this process is a "subreaper", theirs.
void end_children();

} // namespace volley::launch
