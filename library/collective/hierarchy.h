// SPDX-License-Identifier: BSD-3-Clause
/// How the ranks of a communicator lie on nodes, and the communicators of those of each node and of their leaders: for
/// collective operations that go through memory within a node, and by messages of one rank of each between nodes.
#pragma once

#include "core/communicator.h"

#include <vector>

namespace volley {

struct Hierarchy {
    struct Place {
        int node;  ///< number of its node here
        int index; ///< among that node's members
    };

    std::vector<Place> places; ///< by rank
    /// The ranks of each node, in their order. Nodes are numbered by their first ranks, which are their leaders.
    std::vector<std::vector<int>> members;

    // Made for the first operation that wants them.
    Communicator *node = nullptr;    ///< of this rank's node, in the order of ranks
    Communicator *leaders = nullptr; ///< by nodes' numbers; nullptr: this rank is none
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
    /// Neither all ranks on one node, nor each on one of its own.
    bool has_levels() const {
        return nodes() > 1 && members.size() < places.size();
    }
};

/// That of an intracommunicator; nullptr if all processes that there are share memory.
Hierarchy *hierarchy_of(Communicator &communicator);

/// With the communicators of its levels. Collective over it; all ranks get nullptr if it has no levels, or if there is
/// no room for more communicators.
Hierarchy *connected_hierarchy(Communicator &communicator);

} // namespace volley
