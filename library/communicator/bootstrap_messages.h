// SPDX-License-Identifier: BSD-3-Clause
/// Messages between processes of which only some take part, or that have no communicator in common: for
/// MPI_Comm_create_group, MPI_Comm_create_from_group, and the leaders of two groups that shall meet.
///
/// They go over a hidden communicator of all processes. What belongs to which operation is told by a key of any
/// length in front of each message: the tag is its hash, which saves most looking, but need not tell two keys apart.
#pragma once

#include "layout/checked.h"
#include "transport/process.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace volley {

/// Returns when the words may be changed, which can be before they are fetched. An error code.
int bootstrap_send(ProcessIndex process, std::string_view key, std::span<const std::int32_t> words);

/// Waits for what that process has posted under this key; several messages come in order. An error code.
int bootstrap_receive(ProcessIndex process, std::string_view key, std::vector<std::int32_t> &words);

/// Both, with one other process that does the same: long messages do not make them wait for each other.
int bootstrap_exchange(ProcessIndex process, std::string_view key, std::span<const std::int32_t> mine,
                       std::vector<std::int32_t> &theirs);

/// From the process at `root` of `members` to all others there; `index` is this one. An error code.
int bootstrap_broadcast(const std::vector<ProcessIndex> &members, int root, int index, std::string_view key,
                        std::vector<std::int32_t> &words);

} // namespace volley
