// SPDX-License-Identifier: BSD-3-Clause
/// What one waiting rank needs from others.
#pragma once

#include "tools/snapshot.h"

#include <optional>
#include <string>
#include <vector>

namespace volley::view {

struct Dependence {
    std::vector<int> on; ///< ranks
    bool all = false;    ///< each of them has to act, not just one
    std::string what;    ///< "for a message with tag 5 from rank 1 on MPI_COMM_WORLD", in the rank's function
    std::string hint;    ///< what is there instead: "; rank 1 has sent a message with tag 6"
    bool common = false; ///< ranks in the same function with equal words may be told in one sentence
};

/// Precondition: the rank waits.
Dependence dependence_of(const Snapshot &snapshot, const RankView &rank);

/// The collective operation a rank is in or waits for.
struct CollectiveView {
    std::uint32_t context;
    int root; ///< -1: none
};
std::optional<CollectiveView> collective_of(const RankView &rank);

} // namespace volley::view
