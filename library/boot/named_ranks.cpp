// SPDX-License-Identifier: BSD-3-Clause
#include "boot/named_ranks.h"

#include "boot/error.h"

#include <algorithm>
#include <charconv>

namespace volley {
namespace {

/// More ranks than a job can have are a slip of the keyboard.
constexpr int largest_rank = (1 << 20) - 1;
/// Names with it are the standard's.
constexpr std::string_view reserved_prefix = "mpi://";

[[noreturn]] void refuse(std::string_view set, const std::string &reason) {
    throw Error("the process set \"" + std::string(set) + "\" " + reason +
                "; it must be a name, =, and ranks, as in ocean=0-3,6");
}

/// Takes the text up to the next separator away.
std::string_view take(std::string_view &text, char separator) {
    const std::size_t length = std::min(text.find(separator), text.size());
    const std::string_view taken = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    return taken;
}

int read_rank(std::string_view digits, std::string_view set) {
    int rank = -1;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), rank);
    if (error != std::errc() || end != digits.end() || rank < 0 || rank > largest_rank)
        refuse(set, "has \"" + std::string(digits) + "\" where a rank must be");
    return rank;
}

NamedRanks parse_set(std::string_view set) {
    std::string_view left = set;
    NamedRanks made{.name = std::string(take(left, '=')), .ranks = {}};
    if (made.name.empty()) refuse(set, "has no name");
    if (made.name.starts_with(reserved_prefix)) refuse(set, "has a name that begins with mpi://, as those of MPI do");
    if (left.empty()) refuse(set, "has no ranks");
    while (!left.empty()) {
        std::string_view range = take(left, ',');
        const bool is_one = range.find('-') == std::string_view::npos;
        const int first = read_rank(take(range, '-'), set);
        const int last = is_one ? first : read_rank(range, set);
        if (last < first) refuse(set, "has a range whose end is before its beginning");
        for (int rank = first; rank <= last; rank++) made.ranks.push_back(rank);
    }
    std::ranges::sort(made.ranks);
    made.ranks.erase(std::ranges::unique(made.ranks).begin(), made.ranks.end());
    return made;
}

} // namespace

std::vector<NamedRanks> parse_named_ranks(std::string_view text) {
    std::vector<NamedRanks> sets;
    while (!text.empty()) {
        const std::string_view set = take(text, ';');
        sets.push_back(parse_set(set));
        if (std::ranges::count(sets, sets.back().name, &NamedRanks::name) > 1) refuse(set, "is there twice");
    }
    return sets;
}

std::string text_of(const std::vector<NamedRanks> &sets) {
    std::string text;
    for (const NamedRanks &set : sets) {
        if (!text.empty()) text += ';';
        text += set.name;
        for (std::size_t i = 0; i < set.ranks.size(); i++) text += (i == 0 ? '=' : ',') + std::to_string(set.ranks[i]);
    }
    return text;
}

} // namespace volley
