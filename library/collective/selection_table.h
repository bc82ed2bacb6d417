// SPDX-License-Identifier: BSD-3-Clause
/// The table that decides which algorithm a collective operation uses (collective/selection.h): what each algorithm
/// needs, when it is chosen, and why.
#pragma once

#include "collective/area.h"
#include "collective/hierarchy.h"
#include "collective/selection.h"

#include <cstddef>
#include <iterator>
#include <utility>

namespace volley::selection {

// Thresholds. Where none is named here, it belongs to the area, which says how it was measured (collective/area.h).

/// Between two ranks with a core each, sender and receiver of a long message copy half of it each: that is what
/// the point-to-point engine does.
inline constexpr Count pair_bytes = 64 * 1024;
/// From here on the data of a bcast is cut in pieces, so that all ranks send; below, a tree has fewer messages.
inline constexpr Count cut_bcast_bytes = 64 * 1024;
/// The same for a reduction's vector, which is cut in slices, one per rank.
inline constexpr Count cut_reduce_bytes = 32 * 1024;
/// Up to this size the operands of all other ranks are received at once, so that no rank waits for the reduction of
/// another's.
inline constexpr Count together_bytes = 256 * 1024;
/// For an allgather of fewer bytes in all, the number of messages decides; for longer ones their volume does.
inline constexpr Count small_total_bytes = 32 * 1024;
/// With at least this many ranks and blocks up to this size, gather and scatter collect blocks along a tree, so that
/// the root handles few messages.
inline constexpr int tree_ranks = 8;
inline constexpr Count tree_block_bytes = 512;
/// With at least this many ranks and blocks up to this size, it pays that alltoall sends each block several times, in
/// fewer messages.
inline constexpr int bruck_ranks = 8;
inline constexpr Count bruck_block_bytes = 128;
/// Up to here the last rank to arrive reduces everything. The limit is lower where each rank has a core: the others
/// should then do a part of the work.
inline constexpr Count by_last_bytes = 2048;
/// Of few ranks with a core each, that must not read each other's memory (2 processes, staged and by messages: 16 KiB
/// 0.86 and 1.10 us, 64 KiB 2.6 and 2.7, 128 KiB 4.9 and 4.4).
inline constexpr Count most_staged_for_root_bytes = 64 * 1024;
inline constexpr Count oversubscribed_by_last_bytes = CollectiveArea::by_last_bytes;

using Condition = bool (*)(const Situation &s);

// Conditions of algorithms in memory: the communicator has an area.

inline bool always(const Situation &) {
    return true;
}
inline bool is_direct(const Situation &s) {
    return s.communicator.area->direct != 0;
}
inline Count most_in_room(const Situation &s) {
    return std::max<Count>(s.communicator.area->room_bytes, RoundSlot::inline_bytes);
}
inline bool has_room(const Situation &s) {
    return s.even && s.bytes <= most_in_room(s);
}
inline bool has_room_for_all(const Situation &s) {
    return s.even && s.bytes * s.ranks <= most_in_room(s);
}
inline bool has_room_alone(const Situation &s) {
    Count most = static_cast<Count>(s.communicator.area->all_rooms_bytes());
    return s.bytes <= std::max<Count>(most, RoundSlot::inline_bytes);
}
inline bool has_rooms(const Situation &s) {
    return s.communicator.area->all_rooms_bytes() > 0;
}
inline bool has_stage(const Situation &s) {
    return s.even && s.communicator.area->stage_bytes >= s.extent;
}
inline bool has_divided_stage(const Situation &s) {
    Count least = s.operation == Collective::alltoall ? static_cast<Count>(cache_line) : s.extent;
    return s.even && s.communicator.area->stage_bytes / s.ranks >= least;
}
inline bool fits_result_of_last(const Situation &s) {
    return is_direct(s) && s.bytes <= oversubscribed_by_last_bytes;
}
inline bool fits(const Situation &s) {
    return CollectiveRound::fits(s.communicator, s.bytes);
}
inline bool vector_fits(const Situation &s) {
    return CollectiveRound::vector_fits(s.communicator, s.bytes);
}
inline bool all_fit(const Situation &s) {
    return CollectiveRound::all_fit(s.communicator, s.bytes);
}
inline bool each_fits(const Situation &s) {
    return CollectiveRound::fits(s.communicator, s.bytes * s.ranks);
}
inline bool is_pair_of_long(const Situation &s) {
    return s.ranks == 2 && s.bytes >= pair_bytes && !node.oversubscribed();
}
inline bool fits_alone(const Situation &s) {
    return !is_pair_of_long(s) && CollectiveRound::fits_alone(s.communicator, s.bytes);
}
inline bool is_no_pair_of_long(const Situation &s) {
    return !is_pair_of_long(s);
}
inline bool is_in_pieces(const Situation &s) {
    // Of a few processes one copies while others do; where blocks migrate, messages are quicker (Zen 4, 2 processes,
    // us, messages and pieces: 32 KiB 2.0 and 5.3, 1 MiB 49 and 89).
    return node.oversubscribed() || (exchanges(s.communicator) && !is_direct(s) && !blocks_migrate);
}
inline bool is_staged(const Situation &s) {
    return CollectiveRound::is_staged(s.communicator);
}
inline bool is_staged_for_root(const Situation &s) { // where ranks exchange, messages are quicker for long vectors
    return is_staged(s) && (!exchanges(s.communicator) || s.bytes <= most_staged_for_root_bytes);
}
inline bool is_staged_or_at_once(const Situation &s) {
    return is_staged(s) || CollectiveRound::is_staged_at_once(s.communicator, s.bytes * s.ranks);
}
inline bool is_vector_staged(const Situation &s) {
    return is_staged(s) || (!exchanges(s.communicator) && CollectiveRound::is_staged_at_once(s.communicator, s.bytes));
}
inline bool is_for_last(const Situation &s) {
    return !exchanges(s.communicator) &&
           s.bytes <= (node.oversubscribed() ? oversubscribed_by_last_bytes : by_last_bytes);
}

// Conditions of algorithms for several nodes.

inline bool has_levels(const Situation &s) {
    const Hierarchy *hierarchy = hierarchy_of(s.communicator);
    return hierarchy != nullptr && hierarchy->has_levels() && s.even && s.commutative;
}
inline bool is_collected(const Situation &s) {
    return s.bytes <= most_collected_bytes;
}

// Conditions of algorithms by messages.

inline bool are_several(const Situation &s) {
    return s.ranks > 1;
}
inline bool are_even(const Situation &s) {
    return s.even && s.ranks > 1;
}
inline bool is_short_for_tree(const Situation &s) {
    return s.bytes < cut_bcast_bytes || s.ranks == 2;
}
inline bool is_for_tree(const Situation &s) {
    return s.ranks >= tree_ranks && s.bytes <= tree_block_bytes;
}
inline bool is_large_in_all(const Situation &s) {
    return s.total >= small_total_bytes;
}
inline bool are_more_than_two(const Situation &s) {
    return s.ranks > 2;
}
inline bool is_for_bruck(const Situation &s) {
    return s.ranks >= bruck_ranks && s.bytes <= bruck_block_bytes;
}
inline bool can_be_cut(const Situation &s) {
    return s.ranks > 1 && s.elements >= s.ranks;
}
inline bool should_be_cut(const Situation &s) {
    return s.ranks > 2 && s.bytes >= cut_reduce_bytes;
}
inline bool can_be_in_pairs(const Situation &s) {
    return s.commutative && s.ranks > 1;
}
inline bool is_too_large_together(const Situation &s) {
    return s.total > together_bytes;
}

struct Row {
    Algorithm algorithm;
    Means means;
    Condition possible, preferred;
    const char *reason;
};

using enum Algorithm;
inline constexpr Means memory = Means::memory, nodes = Means::nodes, messages_only = Means::messages;
inline constexpr const char *is_small = "it is small enough to go through the memory where they meet";
inline constexpr const char *reads = "ranks may read each other's memory";
inline constexpr const char *in_pieces = "they share memory, but may not read each other's buffers";
inline constexpr const char *one_copy_more = "one copy more is quicker than one round more";
inline constexpr const char *by_leaders =
    "ranks lie on several nodes, and one message between two of these does for all";
inline constexpr const char *few_messages = "it is short: few messages count";
inline constexpr const char *volume = "it is long: what goes over each link counts";
inline constexpr const char *otherwise = "nothing speaks for another one";

// The first row decides that has the means, is possible and is preferred.
inline constexpr Row barrier_rows[] = {
    {published, memory, always, always, "they share memory"},
    {hierarchical, nodes, has_levels, always, by_leaders},
    {dissemination, messages_only, always, always, otherwise},
};
inline constexpr Row bcast_rows[] = {
    {published, memory, has_room_alone, fits_alone, is_small},
    {direct, memory, is_direct, is_no_pair_of_long, reads},
    {pieces, memory, has_rooms, is_in_pieces, "one copies while others do, or each runs once for many pieces"},
    {hierarchical, nodes, has_levels, always, by_leaders},
    {binomial, messages_only, always, is_short_for_tree, few_messages},
    {scatter_ring, messages_only, are_several, always, volume},
};
inline constexpr Row gather_rows[] = {
    {published, memory, has_room, fits, is_small},
    {direct, memory, is_direct, always, reads},
    {binomial, messages_only, are_even, is_for_tree, "blocks are small and ranks many: the root has few messages"},
    {linear, messages_only, always, always, otherwise},
};
inline constexpr Row scatter_rows[] = {
    {direct, memory, is_direct, always, reads},
    {binomial, messages_only, are_even, is_for_tree, "blocks are small and ranks many: the root has few messages"},
    {linear, messages_only, always, always, otherwise},
};
inline constexpr Row allgather_rows[] = {
    {published, memory, has_room, fits, is_small},
    {staged, memory, has_stage, is_staged, in_pieces},
    {direct, memory, is_direct, always, reads},
    {hierarchical, nodes, has_levels, always, by_leaders},
    {ring, messages_only, are_several, is_large_in_all, volume},
    {bruck, messages_only, are_even, are_more_than_two, few_messages},
    {linear, messages_only, always, always, otherwise},
};
inline constexpr Row alltoall_rows[] = {
    {published, memory, has_room_for_all, each_fits, is_small},
    {staged, memory, has_divided_stage, is_staged_or_at_once, one_copy_more},
    {direct, memory, is_direct, always, reads},
    {hierarchical, nodes, has_levels, is_collected, by_leaders},
    {bruck, messages_only, are_even, is_for_bruck, few_messages},
    {linear, messages_only, always, always, otherwise},
};
inline constexpr Row reduce_rows[] = {
    {published, memory, has_room, vector_fits, is_small},
    {staged, memory, has_stage, is_staged_for_root, in_pieces},
    {last, memory, fits_result_of_last, is_for_last, "it is short: everyone runs once"},
    {direct, memory, is_direct, always, reads},
    {hierarchical, nodes, has_levels, always, by_leaders},
    {scatter_gather, messages_only, can_be_cut, should_be_cut, volume},
    {binomial, messages_only, always, always, few_messages},
};
inline constexpr Row allreduce_rows[] = {
    {published, memory, has_room, all_fit, is_small},
    {staged, memory, has_stage, is_staged, in_pieces},
    {last, memory, fits_result_of_last, is_for_last, "it is short: everyone runs once"},
    {direct, memory, is_direct, always, reads},
    {hierarchical, nodes, has_levels, always, by_leaders},
    {ring, messages_only, can_be_cut, should_be_cut, volume},
    {recursive_doubling, messages_only, always, always, few_messages},
};
inline constexpr Row reduce_scatter_rows[] = {
    {published, memory, has_room, fits, is_small},
    {staged, memory, has_divided_stage, is_vector_staged, one_copy_more},
    {direct, memory, is_direct, always, reads},
    {pairwise, messages_only, can_be_in_pairs, is_too_large_together, "it is long: one operand at a time"},
    {linear, messages_only, always, always, otherwise},
};
inline constexpr Row scan_rows[] = {
    {published, memory, has_room, fits, is_small},
    {direct, memory, is_direct, always, reads},
    {staged, memory, has_stage, is_staged, in_pieces},
    {recursive_doubling, messages_only, always, always, otherwise},
};

/// The first row that applies. The rows are a template parameter, so that their conditions are inlined: calls through
/// pointers cost a small operation 5 ns more (2 ranks: bcast of 8 bytes 35 instead of 30 ns, allreduce 102 instead of
/// 97).
template <const auto &rows> [[gnu::always_inline]] inline const Row *find_in(const Situation &s) {
    const Row *found = nullptr;
    auto is_it = [&](const Row &row) {
        if (row.means != s.means || !row.possible(s) || !row.preferred(s)) return false;
        found = &row;
        return true;
    };
    [&]<std::size_t... index>(std::index_sequence<index...>) {
        static_cast<void>((is_it(rows[index]) || ...));
    }(std::make_index_sequence<std::size(rows)>());
    return found;
}

/// Whether VOLLEY_COLLECTIVES asks for something.
extern bool user_asks;
[[gnu::cold]] Algorithm choose_for_user(const Situation &situation);

/// choose(), inlined for operations so short that a call would show in their latency.
template <const auto &rows> [[gnu::always_inline]] inline Algorithm choose_inline(const Situation &situation) {
    if (user_asks) [[unlikely]]
        return choose_for_user(situation);
    const Row *found = find_in<rows>(situation);
    return found != nullptr ? found->algorithm : Algorithm::none;
}

} // namespace volley::selection
