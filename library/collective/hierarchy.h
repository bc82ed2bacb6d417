// SPDX-License-Identifier: BSD-3-Clause
/// The hierarchy of a communicator: which ranks are on which node, a communicator of the ranks of each node, and one of
/// the nodes' leaders. It serves collective operations that go through memory within a node, and by messages of the
/// leaders between nodes.
#pragma once

#include "core/communicator.h"

#include <vector>

namespace volley {

struct Hierarchy {
    struct Place {
        int node;  ///< the number of the rank's node in this hierarchy
        int index; ///< of the rank among that node's members
    };

    std::vector<Place> places; ///< by rank
    /// The ranks of each node, in order. A node's first rank is its leader; nodes are numbered in the order of leaders.
    std::vector<std::vector<int>> members;

    // Made for the first operation that wants them.
    Communicator *node = nullptr;    ///< the ranks of this rank's node, in order
    Communicator *leaders = nullptr; ///< the leaders, in the order of nodes; nullptr: this rank is no leader
    enum class State : std::uint8_t { unconnected, connected, impossible } state = State::unconnected;

    int nodes() const {
        return static_cast<int>(members.size());
    }
    int leader(int of_node) const {
        return members[static_cast<std::size_t>(of_node)].front();
    }
    const Place &place(int rank) const {
        return places[static_cast<std::size_t>(rank)];
    }
    /// Whether there are several nodes, and at least one of them has several ranks.
    bool has_levels() const {
        return nodes() > 1 && members.size() < places.size();
    }
};

/// The hierarchy of an intracommunicator; nullptr if all processes of the job share memory.
Hierarchy *hierarchy_of(Communicator &communicator);

/// The hierarchy with the communicators of its levels. Collective over `communicator`. All ranks get nullptr if there
/// are no levels, or if there is no room for more communicators.
Hierarchy *connected_hierarchy(Communicator &communicator);

} // namespace volley
