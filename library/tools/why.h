// SPDX-License-Identifier: BSD-3-Clause
/// Who waits for whom, and whether anything can still move.
#pragma once

#include "tools/snapshot.h"

#include <chrono>
#include <string>
#include <vector>

namespace volley::view {

/// The time between two snapshots: much longer than anything a rank that is not stuck does inside MPI.
inline constexpr std::chrono::milliseconds between_looks{300};

/// What one rank, or several alike, wait for.
struct Reason {
    std::vector<int> ranks;
    std::vector<int> awaited; ///< ranks any or all of which they need; empty: not known
    std::string sentence;
};

struct Verdict {
    std::vector<int> hung;  ///< ranks that can never go on, whatever the others do
    bool whole_job = false; ///< these are all that still run
    std::vector<int> cycle; ///< of waiting ranks, each of which waits for the next, and the last for the first
    std::vector<Reason> reasons;
    std::string headline;

    bool hangs() const {
        return !hung.empty();
    }
    /// Headline, sentences and cycle, a line each.
    std::string text() const;
};

/// Explains a job from two snapshots taken `between_looks` apart.
Verdict explain(const Snapshot &earlier, const Snapshot &now);

/// Whether a second snapshot could show a hang: some rank waits, and no message is on its way.
bool may_hang(const Snapshot &now);

/// What a rank is doing: "computes", "waits in MPI_Recv for ..."
std::string describe(const Snapshot &snapshot, const RankView &rank);

} // namespace volley::view
