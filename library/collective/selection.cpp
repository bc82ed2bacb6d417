// SPDX-License-Identifier: BSD-3-Clause
#include "collective/selection.h"

#include "boot/error.h"
#include "boot/text.h"
#include "collective/selection_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace volley {

using namespace selection;

namespace {

/// Indexed by Collective and Algorithm.
constexpr std::array<std::string_view, 10> operation_names = {
    "barrier", "bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce", "reduce_scatter", "scan"};
constexpr std::array<std::string_view, 16> algorithm_names = {
    "none",         "published",          "pieces",         "staged",       "last",   "direct",
    "hierarchical", "dissemination",      "binomial",       "scatter_ring", "linear", "bruck",
    "ring",         "recursive_doubling", "scatter_gather", "pairwise"};

constexpr std::array<std::span<const Row>, 10> table = {barrier_rows,        bcast_rows,    gather_rows, scatter_rows,
                                                        allgather_rows,      alltoall_rows, reduce_rows, allreduce_rows,
                                                        reduce_scatter_rows, scan_rows};

std::string name_of(Collective operation) {
    return std::string(operation_names[static_cast<std::size_t>(operation)]);
}

std::string name_of(Algorithm algorithm) {
    return std::string(algorithm_names[static_cast<std::size_t>(algorithm)]);
}

const Row *find(const Situation &s) {
    switch (s.operation) {
    case Collective::barrier:
        return find_in<barrier_rows>(s);
    case Collective::bcast:
        return find_in<bcast_rows>(s);
    case Collective::gather:
        return find_in<gather_rows>(s);
    case Collective::scatter:
        return find_in<scatter_rows>(s);
    case Collective::allgather:
        return find_in<allgather_rows>(s);
    case Collective::alltoall:
        return find_in<alltoall_rows>(s);
    case Collective::reduce:
        return find_in<reduce_rows>(s);
    case Collective::allreduce:
        return find_in<allreduce_rows>(s);
    case Collective::reduce_scatter:
        return find_in<reduce_scatter_rows>(s);
    case Collective::scan:
        return find_in<scan_rows>(s);
    }
    return nullptr;
}

// What VOLLEY_COLLECTIVES asks for.

/// Numbers from the first to the last.
struct Range {
    Count first = 0, last = std::numeric_limits<Count>::max();

    bool has(Count number) const {
        return first <= number && number <= last;
    }
};

Count hosts_of(Communicator &communicator) {
    const Hierarchy *hierarchy = hierarchy_of(communicator);
    return hierarchy != nullptr ? hierarchy->nodes() : 1;
}

/// An algorithm that is asked for, and where: for operations of so many bytes, as Situation counts them, among so many
/// ranks on so many hosts.
struct Wish {
    const Row *row;
    std::array<Range, 3> ranges; ///< indexed as condition_names

    bool is_for(const Situation &s) const {
        return ranges[0].has(s.bytes) && ranges[1].has(s.ranks) && ranges[2].has(hosts_of(s.communicator));
    }
};
constexpr std::array<std::string_view, 3> condition_names = {"bytes", "ranks", "hosts"};

bool is_shown = false;
/// Of each operation; the first counts that is for a situation and possible there.
std::array<std::vector<Wish>, operation_names.size()> wishes;

std::string joined(std::string text, std::string_view more) {
    return text.empty() ? std::string(more) : text + ", " + std::string(more);
}

[[noreturn]] void refuse(std::string_view item, const std::string &reason) {
    throw Error("environment variable VOLLEY_COLLECTIVES has '" + std::string(item) + "': " + reason);
}

/// Nothing if the text is no number.
std::optional<Count> parse_count(std::string_view text) {
    Count number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) return {};
    return number;
}

/// Reads N, FIRST-LAST or FIRST-; nothing if it is none of them.
std::optional<Range> parse_range(std::string_view text) {
    const auto dash = text.find('-');
    const auto first = parse_count(text.substr(0, dash));
    if (!first) return {};
    if (dash == std::string_view::npos) return Range{*first, *first};
    if (dash + 1 == text.size()) return Range{.first = *first};
    const auto last = parse_count(text.substr(dash + 1));
    if (!last || *last < *first) return {};
    return Range{*first, *last};
}

void add_condition(std::string_view item, std::string_view condition, Wish &wish) {
    const auto equals = condition.find('=');
    const auto *name = std::ranges::find(condition_names, condition.substr(0, equals));
    const auto range = equals != std::string_view::npos ? parse_range(condition.substr(equals + 1)) : std::nullopt;
    if (name == condition_names.end() || !range)
        refuse(item, "'" + std::string(condition) +
                         "' is no condition; those are bytes=FIRST-LAST, ranks=FIRST-LAST and hosts=FIRST-LAST, where "
                         "one number may stand for both, and LAST may be left out");
    wish.ranges[static_cast<std::size_t>(name - condition_names.begin())] = *range;
}

void add_wish(std::string_view item) {
    const std::string_view what = item.substr(0, item.find('@'));
    const auto equals = what.find('=');
    const std::string_view operation = what.substr(0, equals);
    const std::string_view algorithm = equals == std::string_view::npos ? "" : what.substr(equals + 1);
    const auto *found = std::ranges::find(operation_names, operation);
    if (found == operation_names.end()) {
        std::string known;
        for (std::string_view each : operation_names) known = joined(known, each);
        refuse(item, "there is no '" + std::string(operation) +
                         "'; it may have \"show\", @FILE, and OPERATION=ALGORITHM for " + known);
    }
    const auto number = static_cast<std::size_t>(found - operation_names.begin());
    const auto row =
        std::ranges::find(table[number], algorithm, [](const Row &each) { return name_of(each.algorithm); });
    if (row == table[number].end()) {
        std::string known;
        for (const Row &each : table[number]) known = joined(known, name_of(each.algorithm));
        refuse(item, std::string(operation) + " has no algorithm '" + std::string(algorithm) + "'; it has " + known);
    }
    Wish wish{.row = &*row, .ranges = {}};
    if (what.size() < item.size())
        for (const std::string &condition : fields_of(item.substr(what.size() + 1), ','))
            add_condition(item, condition, wish);
    wishes[number].push_back(wish);
}

/// Shows the choice once for each class of sizes between two powers of two.
void show(const Situation &s, const Row &row, const Row *asked) {
    static std::set<std::tuple<std::uint32_t, Collective, int, Means>> shown;
    if (s.communicator.rank() != 0) return;
    int size_class = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(s.bytes)));
    if (!shown.emplace(s.communicator.context(Traffic::program), s.operation, size_class, s.means).second) return;
    std::string size;
    if (s.bytes > 0)
        size = " of " + std::to_string(std::uint64_t{1} << (size_class - 1)) + " to " +
               std::to_string((std::uint64_t{1} << size_class) - 1) + " bytes";
    std::string reason = row.reason;
    if (asked == &row)
        reason = "VOLLEY_COLLECTIVES asks for it";
    else if (asked != nullptr)
        reason += " (" + name_of(asked->algorithm) + ", which was asked for, is not possible)";
    const std::string name(s.communicator.name());
    std::fprintf(stderr, "Volley: %s%s among %d ranks of %s: %s, since %s\n", name_of(s.operation).c_str(),
                 size.c_str(), s.ranks, name.empty() ? "a communicator without a name" : name.c_str(),
                 name_of(row.algorithm).c_str(), reason.c_str());
}

/// Whether a row's algorithm is possible, with the present means or with those that come later.
bool is_possible(const Row &row, Situation s) {
    if (row.means < s.means) return false;
    s.means = row.means;
    return row.possible(s);
}

const Row *find_for_user(const Situation &s) {
    const Row *found = find(s), *asked = nullptr;
    for (const Wish &wish : wishes[static_cast<std::size_t>(s.operation)]) {
        if (!wish.is_for(s)) continue;
        asked = wish.row;
        if (!is_possible(*asked, s)) continue;
        found = asked->means == s.means ? asked : nullptr;
        break;
    }
    if (found != nullptr && is_shown) show(s, *found, asked);
    return found;
}

} // namespace

bool selection::user_asks = false;

Algorithm selection::choose_for_user(const Situation &situation) {
    const Row *found = find_for_user(situation);
    return found != nullptr ? found->algorithm : none;
}

Algorithm choose(const Situation &situation) {
    return user_asks ? choose_for_user(situation) : choose_part(situation);
}

Algorithm choose_part(const Situation &situation) {
    const Row *found = find(situation);
    return found != nullptr ? found->algorithm : none;
}

void open_selection() {
    wishes = {};
    is_shown = false;
    for (const std::string &item : fields_of(node.settings.collectives, ':'))
        if (item == "show")
            is_shown = true;
        else if (!item.empty())
            add_wish(item);
    user_asks = !node.settings.collectives.empty();
}

std::uint64_t selection_number() {
    std::uint64_t number = 14695981039346656037U; // FNV-1a
    auto add = [&](std::uint64_t value) { number = (number ^ value) * 1099511628211U; };
    for (std::size_t operation = 0; operation < wishes.size(); operation++)
        for (const Wish &wish : wishes[operation]) {
            add(operation);
            add(static_cast<std::uint64_t>(wish.row - table[operation].data()));
            for (const Range &range : wish.ranges) {
                add(static_cast<std::uint64_t>(range.first));
                add(static_cast<std::uint64_t>(range.last));
            }
        }
    return number >> 1; // one can be added to it
}

} // namespace volley
