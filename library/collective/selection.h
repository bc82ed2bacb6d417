// SPDX-License-Identifier: BSD-3-Clause
/// Which algorithm a collective operation uses: one table (selection_table.h) decides from what all ranks know alike.
///
/// Users can see what was chosen and why, and can choose themselves: VOLLEY_COLLECTIVES is "show", or
/// "OPERATION=ALGORITHM", or several of these with ':' between. A user's choice is taken wherever it is possible, or
/// where its conditions hold: "bcast=binomial@bytes=1024-65535,ranks=13,hosts=2-". The first that can be taken is.
/// `volley tune` finds such choices by measuring, and writes them to a file ("@FILE").
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

/// Algorithms by name; the same name may serve several operations.
enum class Algorithm : std::uint8_t {
    none, ///< these means offer none
    // In memory that all ranks share (collective/shared.h).
    published, ///< data is published in the area, whole
    pieces,    ///< data is published in pieces, each as long as the rooms of a round
    staged,    ///< over the stage, in pieces that all ranks bring and take together
    last,      ///< the last rank to arrive reads all operands and makes the result
    direct,    ///< all ranks read and write the data in place
    // Of several nodes (collective/hierarchical.h).
    hierarchical,
    // By messages (collective/algorithms.h).
    dissemination,
    binomial,
    scatter_ring, ///< pieces down a binomial tree, then around a ring (van de Geijn)
    linear,       ///< all messages at once, each rank with each or with the root
    bruck,
    ring,
    recursive_doubling,
    scatter_gather, ///< each reduces a slice, which the root gathers (Rabenseifner)
    pairwise,       ///< one partner after the other
};

/// Through what an operation works. Means are tried in this order.
enum class Means : std::uint8_t { memory, nodes, messages };

/// What the choice depends on. All ranks that take part have the same values.
struct Situation {
    Collective operation;
    Means means;
    Communicator &communicator;
    int ranks;               ///< that take part
    Count bytes = 0;         ///< of one block, of a reduction's vector, or in all where blocks differ
    Count total = 0;         ///< of allgather and reduce_scatter: of all blocks
    bool even = true;        ///< all blocks have the same length
    bool commutative = true; ///< a reduction may take its operands in any order
    Count elements = 0;      ///< of a reduction's vector
    Count extent = 1;        ///< of its elements
};

/// The algorithm with these means; none: the operation has to use means that come later in Means.
Algorithm choose(const Situation &situation);
/// The same for a part of an operation whose algorithm has been chosen. The user's wishes do not apply to it, and it is
/// not shown.
Algorithm choose_part(const Situation &situation);

/// Reads VOLLEY_COLLECTIVES. Throws Error if it cannot be understood.
void open_selection();
/// A number for the algorithms that VOLLEY_COLLECTIVES asks for. Ranks that have different numbers would choose
/// different algorithms for one operation.
std::uint64_t selection_number();

/// Up to here alltoall's blocks go through the leaders of nodes. Longer blocks go from rank to rank: leaders would copy
/// everything three times, to combine messages that are long enough by themselves.
inline constexpr Count most_collected_bytes = 2048;

} // namespace volley
