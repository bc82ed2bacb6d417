// SPDX-License-Identifier: BSD-3-Clause
/// Gather and scatter. Large blocks go straight between the root and each rank; small ones of many ranks are
/// collected on the way up (down) a binomial tree, so that the root handles few messages.
#include "collective/algorithms.h"
#include "collective/selection.h"

#include <algorithm>

namespace volley {
namespace {

bool use_tree(const Schedule &schedule, Collective operation, const Team &team, Count block_bytes) {
    return choose({.operation = operation,
                   .means = Means::messages,
                   .communicator = *schedule.communicator,
                   .ranks = team.size,
                   .bytes = block_bytes}) == Algorithm::binomial;
}

/// A rank's part of the tree: the ranks [place, place + ranks), counted from the root.
struct Subtree {
    int place;
    int parent_distance; ///< also a bound of the subtree's size
    int ranks;

    Subtree(const Team &team, int root) : place((team.rank - root + team.size) % team.size), parent_distance(1) {
        while (parent_distance < team.size && (place & parent_distance) == 0) parent_distance *= 2;
        ranks = std::min(parent_distance, team.size - place);
    }
};

void add_gather_tree(Schedule &schedule, const Team &team, const Block &own, const Blocks &all, Count bytes, int root) {
    Subtree tree(team, root);
    auto real = [&](int place) { return (place + root) % team.size; };
    if (tree.ranks == 1) {
        schedule.send(own, real(tree.place - tree.parent_distance), team.scope);
        return schedule.end_round();
    }
    char *collected = schedule.temporary(tree.ranks * bytes);
    for (int distance = 1; distance < tree.ranks; distance *= 2) {
        int ranks = std::min(distance, tree.ranks - distance);
        schedule.receive(bytes_at(collected + distance * bytes, ranks * bytes), real(tree.place + distance),
                         team.scope);
    }
    if (team.rank != root) {
        schedule.copy(own, bytes_at(collected, bytes));
        schedule.end_round();
        schedule.send(bytes_at(collected, tree.ranks * bytes), real(tree.place - tree.parent_distance), team.scope);
        return schedule.end_round();
    }
    if (own.type != nullptr) schedule.copy(own, all[root]);
    schedule.end_round();
    for (int place = 1; place < team.size; ++place)
        schedule.copy(bytes_at(collected + place * bytes, bytes), all[real(place)]);
    schedule.end_round();
}

void add_scatter_tree(Schedule &schedule, const Team &team, const Blocks &all, const Block &own, Count bytes,
                      int root) {
    Subtree tree(team, root);
    auto real = [&](int place) { return (place + root) % team.size; };
    if (tree.ranks == 1) {
        schedule.receive(own, real(tree.place - tree.parent_distance), team.scope);
        return schedule.end_round();
    }
    char *collected = schedule.temporary(tree.ranks * bytes);
    if (team.rank == root) {
        for (int place = 1; place < team.size; ++place)
            schedule.copy(all[real(place)], bytes_at(collected + place * bytes, bytes));
    } else {
        schedule.receive(bytes_at(collected, tree.ranks * bytes), real(tree.place - tree.parent_distance), team.scope);
        schedule.end_round();
    }
    int distance = 1;
    while (distance * 2 < tree.ranks) distance *= 2;
    for (; distance > 0; distance /= 2) {
        int ranks = std::min(distance, tree.ranks - distance);
        schedule.send(bytes_at(collected + distance * bytes, ranks * bytes), real(tree.place + distance), team.scope);
    }
    if (team.rank != root)
        schedule.copy(bytes_at(collected, bytes), own);
    else if (own.type != nullptr)
        schedule.copy(all[root], own);
    schedule.end_round();
}

} // namespace

void add_gather(Schedule &schedule, const Team &team, const Block &own, const Blocks &all, Count block_bytes,
                int root) {
    if (block_bytes == 0) return;
    if (use_tree(schedule, Collective::gather, team, block_bytes))
        return add_gather_tree(schedule, team, own, all, block_bytes, root);
    add_gather_each(schedule, team, own, all, root);
}

void add_gather_each(Schedule &schedule, const Team &team, const Block &own, const Blocks &all, int root) {
    if (team.rank != root) {
        if (own.bytes() > 0) schedule.send(own, root, team.scope);
        return schedule.end_round();
    }
    for (int i = 1; i < team.size; ++i) {
        int peer = (root + i) % team.size;
        if (all[peer].bytes() > 0) schedule.receive(all[peer], peer, team.scope);
    }
    if (own.type != nullptr) schedule.copy(own, all[root]);
    schedule.end_round();
}

void add_scatter(Schedule &schedule, const Team &team, const Blocks &all, const Block &own, Count block_bytes,
                 int root) {
    if (block_bytes == 0) return;
    if (use_tree(schedule, Collective::scatter, team, block_bytes))
        return add_scatter_tree(schedule, team, all, own, block_bytes, root);
    add_scatter_each(schedule, team, all, own, root);
}

void add_scatter_each(Schedule &schedule, const Team &team, const Blocks &all, const Block &own, int root) {
    if (team.rank != root) {
        if (own.bytes() > 0) schedule.receive(own, root, team.scope);
        return schedule.end_round();
    }
    for (int i = 1; i < team.size; ++i) {
        int peer = (root + i) % team.size;
        if (all[peer].bytes() > 0) schedule.send(all[peer], peer, team.scope);
    }
    if (own.type != nullptr) schedule.copy(all[root], own);
    schedule.end_round();
}

} // namespace volley
