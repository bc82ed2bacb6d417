// SPDX-License-Identifier: BSD-3-Clause
/// The hosts of a job, as the user names them, and which ranks run where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "boot/sockets.h"

namespace volley::launch {

struct Host {
    std::string name;
    int slots = 1; ///< how many ranks it takes before the next host gets some
};

/// Reads "a:4,b:4,c". A host that is named again gets more slots. Throws Error.
std::vector<Host> read_hosts(const std::string &option, const std::string &text);

/// Reads a hostfile, one host a line; '#' begins a comment. These formats are understood:
///
///     node1 slots=4 max_slots=8      Open MPI
///     node1:4                        MPICH
///     node1 cpu=4                    LAM
///     node1                          one slot, or one more
///
/// Throws Error, with line and column.
std::vector<Host> read_hostfile(const std::string &path);

/// Reads "50000-50100". Throws Error.
PortRange read_port_range(const std::string &option, const std::string &text);

/// How ranks are given to hosts: fill the slots of each host in turn, or take one slot of each host in turn.
enum class Mapping { slot, node };

/// The host of each rank, by its index. With `per_host` every host has so many slots, whatever the list says; 0: as the
/// list says. Throws Error if there are fewer slots than ranks.
std::vector<std::int32_t> assign_ranks(const std::vector<Host> &hosts, int ranks, Mapping mapping, int per_host);
/// The slots of all hosts.
int slots_of(const std::vector<Host> &hosts, int per_host);

} // namespace volley::launch
