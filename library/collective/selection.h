// SPDX-License-Identifier: BSD-3-Clause
/// Which algorithm a collective operation takes: one table (selection.cpp) decides from what all ranks know alike.
///
/// A user may see what was chosen and why, and choose: VOLLEY_COLLECTIVES is "show", or "OPERATION=ALGORITHM", or
/// several of them with ':' between. What is asked for is taken wherever it is possible.
#pragma once

#include "core/communicator.h"
#include "layout/checked.h"

#include <cstdint>

namespace volley {

enum class Collective : std::uint8_t {
    barrier,
    bcast,
    gather,
    scatter,
    allgather,
    alltoall,
    reduce,
    allreduce,
    reduce_scatter,
    scan,
};

/// By name; several operations have one of a name.
enum class Algorithm : std::uint8_t {
    none, ///< not with these means
    // In memory that all ranks share (collective/shared.h).
    published, ///< data goes through the area, whole
    pieces,    ///< the same, as much at a time as there is room for
    staged,    ///< over the stage, in pieces that all bring and take together
    last,      ///< who comes last reads everyone's operands and makes the result
    direct,    ///< everyone reads and writes where the data lies
    // Of several nodes (collective/hierarchical.h).
    hierarchical,
    // By messages (collective/algorithms.h).
    dissemination,
    binomial,
    scatter_ring, ///< pieces down a binomial tree, then around a ring (van de Geijn)
    linear,       ///< each with each, or all with the root, at once
    bruck,
    ring,
    recursive_doubling,
    scatter_gather, ///< each reduces a slice, which the root gathers (Rabenseifner)
    pairwise,       ///< a partner after the other
};

/// By what an operation is about to be done.
enum class Means : std::uint8_t { memory, nodes, messages };

/// What decides. Ranks that take part have all of it alike.
struct Situation {
    Collective operation;
    Means means;
    Communicator &communicator;
    int ranks;               ///< that take part
    Count bytes = 0;         ///< of one block, of a reduction's vector, or in all where blocks differ
    Count total = 0;         ///< of allgather and reduce_scatter: of all blocks
    bool even = true;        ///< all blocks are as long
    bool commutative = true; ///< a reduction may take its operands in any order
    Count elements = 0;      ///< of a reduction's vector
    Count extent = 1;        ///< of its elements
};

/// The algorithm with these means; none: it is to be done by others, which come later in Means.
Algorithm choose(const Situation &situation);
/// The same for a part of an operation that has been chosen: not what the user asked for, and not shown.
Algorithm choose_part(const Situation &situation);

/// Reads what the user asks for. Throws Error if it means nothing.
void open_selection();

/// Up to here alltoall's blocks go through leaders of nodes. Longer ones go from rank to rank: leaders would copy all
/// of it three times, to save messages that are long enough by themselves.
inline constexpr Count most_collected_bytes = 2048;

} // namespace volley
