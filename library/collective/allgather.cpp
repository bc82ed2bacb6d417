// SPDX-License-Identifier: BSD-3-Clause
#include "collective/algorithms.h"
#include "collective/selection.h"

#include <algorithm>

namespace volley {
namespace {

/// Bruck's algorithm: the data a rank holds doubles with every round, and is put in order at the end.
void add_doubling(Schedule &schedule, const Team &team, const Block &own, const Blocks &all, Count bytes) {
    char *held = schedule.temporary(team.size * bytes);
    schedule.copy(own, bytes_at(held, bytes));
    for (int distance = 1; distance < team.size; distance *= 2) {
        Count ranks = std::min(distance, team.size - distance);
        schedule.receive(bytes_at(held + distance * bytes, ranks * bytes), (team.rank + distance) % team.size,
                         team.scope);
        schedule.send(bytes_at(held, ranks * bytes), (team.rank - distance + team.size) % team.size, team.scope);
        schedule.end_round();
    }
    for (int i = 1; i < team.size; ++i)
        schedule.copy(bytes_at(held + i * bytes, bytes), all[(team.rank + i) % team.size]);
}

/// Each rank sends to all others at once: one round, for blocks of different sizes.
void add_direct(Schedule &schedule, const Team &team, const Block &own, const Blocks &all) {
    for (int i = 1; i < team.size; ++i) {
        int peer = (team.rank - i + team.size) % team.size;
        if (all[peer].bytes() > 0) schedule.receive(all[peer], peer, team.scope);
    }
    for (int i = 1; i < team.size; ++i)
        if (own.bytes() > 0) schedule.send(own, (team.rank + i) % team.size, team.scope);
}

/// In each round every rank passes on what it received in the round before. The caller ends the last one.
void add_ring(Schedule &schedule, const Team &team, const Block &own, const Blocks &all) {
    int next = (team.rank + 1) % team.size, previous = (team.rank - 1 + team.size) % team.size;
    for (int i = 0; i < team.size - 1; ++i) {
        Block passed = i == 0 ? own : all[(team.rank - i + team.size) % team.size];
        Block arriving = all[(team.rank - i - 1 + team.size) % team.size];
        if (arriving.bytes() > 0) schedule.receive(arriving, previous, team.scope);
        if (passed.bytes() > 0) schedule.send(passed, next, team.scope);
        if (i < team.size - 2) schedule.end_round();
    }
}

} // namespace

/// This rank's block is sent from where it is, and copied to its place while the messages of others are under way.
void add_allgather(Schedule &schedule, const Team &team, const Block &own, const Blocks &all) {
    Count total = all.bytes(team.size);
    if (total == 0) return;
    Block mine = own.type != nullptr ? own : all[team.rank];
    if (team.size > 1) {
        Count bytes = all.uniform() ? all[0].bytes() : total;
        switch (choose({.operation = Collective::allgather,
                        .means = Means::messages,
                        .communicator = *schedule.communicator,
                        .ranks = team.size,
                        .bytes = bytes,
                        .total = total,
                        .even = all.uniform()})) {
        case Algorithm::ring:
            add_ring(schedule, team, mine, all);
            break;
        case Algorithm::bruck:
            add_doubling(schedule, team, mine, all, bytes);
            break;
        default:
            add_direct(schedule, team, mine, all);
        }
    }
    if (own.type != nullptr) schedule.copy(own, all[team.rank]);
    schedule.end_round();
}

} // namespace volley
