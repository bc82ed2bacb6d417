// SPDX-License-Identifier: BSD-3-Clause
/// How processes of several jobs learn to reach each other, before they make something together (MPI 5.0,
/// section 11.10).
///
/// Each member of a group describes itself: its name, and where it takes connections. The roots of two groups exchange
/// these descriptions, and agree on a secret. Once all members have been told, they connect to each other as processes
/// of one job do (transport/tcp), and prove to know that secret.
#pragma once

#include "core/communicator.h"
#include "core/group.h"
#include "layout/checked.h"

#include <cstdint>
#include <vector>

namespace volley {

/// Where processes of other jobs on the same host connect to a process, to share memory with it.
struct PlaceOnHost {
    std::uint64_t host = 0;   ///< the same number: the same host (host_identity())
    std::uint32_t socket = 0; ///< 0: it shares memory with nobody
    std::uint32_t unused = 0;
};

/// Plain data, sent as bytes.
struct ProcessDescription {
    ProcessName name;
    NetworkAddress address;
    std::int32_t node; ///< its number in that job
    std::int32_t port; ///< 0: it can take no connections
    PlaceOnHost on_host;
};

using Descriptions = std::vector<ProcessDescription>;

inline Count bytes_of(const Descriptions &descriptions) {
    return static_cast<Count>(descriptions.size() * sizeof descriptions[0]);
}

/// Whether all of them can take connections.
bool can_be_reached(const Descriptions &descriptions);

/// Collective over `comm`: all get the descriptions of its members, in the order of their ranks. `near` is an address
/// in the network by which others shall reach them: the root's, or of another group. Returns an error code.
int describe_group(Communicator &comm, const NetworkAddress &near, Descriptions &descriptions);

/// Called in all members of a group: from now on messages of these processes are taken, and some can be sent to them.
/// They are known as long as a group has them; the caller gets such a group.
Group *introduce(const Descriptions &others, const Secret &secret);

/// Gives all members of `comm` the root's error code; returns it, or one of the same class with the root's sentence.
int share_code(int code, int root, Communicator &comm);

} // namespace volley
