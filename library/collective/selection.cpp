// SPDX-License-Identifier: BSD-3-Clause
#include "collective/selection.h"

#include "boot/error.h"
#include "collective/selection_table.h"

#include <array>
#include <bit>
#include <cstdio>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

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

bool is_shown = false;
std::array<const Row *, operation_names.size()> asked_for{};

std::string joined(std::string text, std::string_view more) {
    return text.empty() ? std::string(more) : text + ", " + std::string(more);
}

[[noreturn]] void refuse(const std::string &text, const std::string &reason) {
    throw Error("environment variable VOLLEY_COLLECTIVES is '" + text + "': " + reason);
}

void ask_for(const std::string &text, std::string_view item) {
    const auto equals = item.find('=');
    const std::string_view operation = item.substr(0, equals);
    const std::string_view algorithm = equals == std::string_view::npos ? "" : item.substr(equals + 1);
    std::string known;
    for (std::size_t i = 0; i < operation_names.size(); i++) {
        known = joined(known, operation_names[i]);
        if (operation != operation_names[i]) continue;
        std::string algorithms;
        for (const Row &row : table[i]) {
            algorithms = joined(algorithms, name_of(row.algorithm));
            if (algorithm == name_of(row.algorithm)) asked_for[i] = &row;
        }
        if (asked_for[i] == nullptr || algorithm != name_of(asked_for[i]->algorithm))
            refuse(text,
                   std::string(operation) + " has no algorithm '" + std::string(algorithm) + "'; it has " + algorithms);
        return;
    }
    refuse(text,
           "there is no '" + std::string(operation) + "'; it may have \"show\", and OPERATION=ALGORITHM for " + known);
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
    const Row *asked = asked_for[static_cast<std::size_t>(s.operation)];
    const Row *found = find(s);
    if (asked != nullptr && is_possible(*asked, s)) found = asked->means == s.means ? asked : nullptr;
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
    const std::string &text = node.settings.collectives;
    asked_for = {};
    is_shown = false;
    for (std::size_t begin = 0; begin < text.size();) {
        const auto end = std::min(text.find(':', begin), text.size());
        const std::string_view item = std::string_view(text).substr(begin, end - begin);
        if (item == "show")
            is_shown = true;
        else
            ask_for(text, item);
        begin = end + 1;
    }
    user_asks = !text.empty();
}

std::uint64_t selection_number() {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < asked_for.size(); i++) {
        auto row = asked_for[i] == nullptr ? 0 : static_cast<std::uint64_t>(asked_for[i] - table[i].data()) + 1;
        number = number * (table[i].size() + 1) + row;
    }
    return number;
}

} // namespace volley
