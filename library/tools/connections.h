// SPDX-License-Identifier: BSD-3-Clause
/// What both ends of connections say, put together.
#pragma once

#include "tools/snapshot.h"

#include <vector>

namespace volley::view {

/// What a rank has to do with a peer: the connection for messages to it, and the one for messages from it.
struct PeerView {
    int rank, peer;
    std::uint64_t messages_sent = 0, bytes_sent = 0, messages_received = 0, bytes_received = 0;
    std::uint64_t queued = 0; ///< bytes that this rank has written for the peer, and whose arrival nobody has confirmed
    std::uint32_t announced = 0;                  ///< messages to the peer that wait for their receives
    std::optional<std::uint64_t> retransmissions; ///< by this rank's kernel
};

/// By rank and peer.
std::vector<PeerView> peers_of(const Snapshot &snapshot);

/// Ranks to which something is on its way by a connection: a frame that was said and that they have not handled, or
/// the data of a message.
std::vector<int> awaited_by_connections(const Snapshot &snapshot);

} // namespace volley::view
