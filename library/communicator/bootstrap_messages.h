// SPDX-License-Identifier: BSD-3-Clause
/// Messages of operations in which only some processes take part, or whose processes have no communicator in common:
/// MPI_Comm_create_group, MPI_Comm_create_from_group, and the leaders of two groups that make an intercommunicator.
///
/// They go over the bootstrap communicator, a hidden one of all processes of the job. Processes of several jobs have
/// none; there the messages go over a communicator that the program names, among its collective traffic, where the
/// numbers of operations are tags that are not negative, and these are negative.
///
/// A key of any length in front of each message says to which operation it belongs. The tag is the key's hash, which
/// finds the right message almost always; since two keys may have the same hash, keys are compared as well.
#pragma once

#include "core/point_to_point.h"
#include "transport/process.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace volley {

/// The bootstrap communicator has the processes of this job alone: an error code if one of these is of another job.
[[nodiscard]] int check_one_job(const std::vector<ProcessIndex> &members);

/// The messages of one operation.
class BootstrapChannel {
  public:
    /// Between processes of this job.
    explicit BootstrapChannel(std::string key);
    /// Between processes of `common`, which has all that take part, perhaps of several jobs. `key` need not tell
    /// communicators apart.
    BootstrapChannel(Communicator &common, std::string key);

    /// Returns when the words may be changed, which can be before they are received. Returns an error code.
    int send(ProcessIndex process, std::span<const std::int32_t> words) const;

    /// Waits for a message that `process` sends; several messages come in order. Returns an error code.
    int receive(ProcessIndex process, std::vector<std::int32_t> &words) const;

    /// Sends to and receives from a process that does the same; long messages do not make the two wait for each other.
    int exchange(ProcessIndex process, std::span<const std::int32_t> mine, std::vector<std::int32_t> &theirs) const;

    /// Broadcasts from member `root` to all other members; this process is member `index`. Returns an error code.
    int broadcast(const std::vector<ProcessIndex> &members, int root, int index,
                  std::vector<std::int32_t> &words) const;

    /// Returns once all members have called it; this process is member `index`. Returns an error code.
    int barrier(const std::vector<ProcessIndex> &members, int index) const;

  private:
    Address address_of(ProcessIndex process) const;

    Communicator &carrier_;
    std::string key_;
    int tag_;
};

} // namespace volley
