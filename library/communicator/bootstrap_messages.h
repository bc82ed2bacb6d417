// SPDX-License-Identifier: BSD-3-Clause
/// Messages over the bootstrap communicator, a hidden one of all processes. They serve operations in which only some
/// processes take part, or whose processes have no communicator in common: MPI_Comm_create_group,
/// MPI_Comm_create_from_group, and the leaders of two groups that make an intercommunicator.
///
/// A key of any length in front of each message says to which operation it belongs. The tag is the key's hash, which
/// finds the right message almost always; since two keys may have the same hash, keys are compared as well.
#pragma once

#include "layout/checked.h"
#include "transport/process.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace volley {

/// The bootstrap communicator has the processes of this job alone: an error code if one of these is of another job.
[[nodiscard]] int check_one_job(const std::vector<ProcessIndex> &members);

/// Returns when the words may be changed, which can be before they are received. Returns an error code.
int bootstrap_send(ProcessIndex process, std::string_view key, std::span<const std::int32_t> words);

/// Waits for a message that `process` sends with this key; several messages come in order. Returns an error code.
int bootstrap_receive(ProcessIndex process, std::string_view key, std::vector<std::int32_t> &words);

/// Sends to and receives from a process that does the same; long messages do not make the two wait for each other.
int bootstrap_exchange(ProcessIndex process, std::string_view key, std::span<const std::int32_t> mine,
                       std::vector<std::int32_t> &theirs);

/// Broadcasts from member `root` to all other members; this process is member `index`. Returns an error code.
int bootstrap_broadcast(const std::vector<ProcessIndex> &members, int root, int index, std::string_view key,
                        std::vector<std::int32_t> &words);

/// Returns once all members have called it; this process is member `index`. Returns an error code.
int bootstrap_barrier(const std::vector<ProcessIndex> &members, int index, std::string_view key);

} // namespace volley
