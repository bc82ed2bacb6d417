// SPDX-License-Identifier: BSD-3-Clause
#include "tools/connections.h"

#include <map>
#include <tuple>
#include <utility>

namespace volley::view {

std::vector<PeerView> peers_of(const Snapshot &snapshot) {
    std::map<std::pair<int, int>, PeerView> found;
    for (const ConnectionView &connection : snapshot.connections) {
        PeerView &peer = found.try_emplace({connection.rank, connection.peer}, PeerView{}).first->second;
        peer.rank = connection.rank;
        peer.peer = connection.peer;
        (connection.is_senders ? peer.messages_sent : peer.messages_received) += connection.messages;
        (connection.is_senders ? peer.bytes_sent : peer.bytes_received) += connection.bytes;
        peer.queued += connection.queued + connection.unacknowledged.value_or(0);
        peer.announced += connection.announced;
        if (connection.retransmissions)
            peer.retransmissions = peer.retransmissions.value_or(0) + *connection.retransmissions;
    }
    std::vector<PeerView> peers;
    peers.reserve(found.size());
    for (const auto &[ends, peer] : found) peers.push_back(peer);
    return peers;
}

/// An end that is not there has handled nothing: it has not been made yet.
std::vector<int> awaited_by_connections(const Snapshot &snapshot) {
    std::map<std::tuple<int, int, bool>, std::uint64_t> handled;
    for (const ConnectionView &end : snapshot.connections)
        handled[{end.rank, end.peer, end.is_senders}] += end.frames_handled;
    std::vector<int> ranks;
    for (const ConnectionView &end : snapshot.connections) {
        const auto other = handled.find({end.peer, end.rank, !end.is_senders});
        if (end.streams > 0 || end.frames_said != (other != handled.end() ? other->second : 0))
            ranks.push_back(end.peer);
    }
    return ranks;
}

} // namespace volley::view
