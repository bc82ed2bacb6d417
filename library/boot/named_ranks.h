// SPDX-License-Identifier: BSD-3-Clause
/// Sets of ranks that a user has named: process sets of sessions (MPI 5.0, section 11.3.2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace volley {

struct NamedRanks {
    std::string name;
    std::vector<int> ranks; ///< in the world, ascending, each once
};

/// Reads "ocean=0-3,6;ice=4,5". Throws Error, which says what is wrong with `text`.
std::vector<NamedRanks> parse_named_ranks(std::string_view text);

/// As parse_named_ranks() reads it.
std::string text_of(const std::vector<NamedRanks> &sets);

} // namespace volley
