// SPDX-License-Identifier: BSD-3-Clause
#include "collective/algorithms.h"
#include "collective/selection.h"

#include <algorithm>

namespace volley {
namespace {

/// Down a binomial tree: a rank's parent lacks its lowest set bit, counted from the root.
void add_tree(Schedule &schedule, const Team &team, const Block &block, int root) {
    int relative = (team.rank - root + team.size) % team.size;
    auto real = [&](int place) { return (place + root) % team.size; };
    int mask = 1;
    while (mask < team.size && (relative & mask) == 0) mask *= 2;
    if (relative != 0) {
        schedule.receive(block, real(relative - mask), team.scope);
        schedule.end_round();
    }
    for (mask /= 2; mask > 0; mask /= 2)
        if (relative + mask < team.size) schedule.send(block, real(relative + mask), team.scope);
    schedule.end_round();
}

/// Scatters pieces down the tree, then passes them around a ring.
void add_cut(Schedule &schedule, const Team &team, char *data, Count bytes, int root) {
    int relative = (team.rank - root + team.size) % team.size;
    auto real = [&](int place) { return (place + root + team.size) % team.size; };
    Count piece = (bytes + team.size - 1) / team.size;
    auto pieces = [&](int from, int to) {
        Count begin = std::min(bytes, from * piece), end = std::min(bytes, to * piece);
        return bytes_at(data + begin, end - begin);
    };
    auto receive = [&](const Block &block, int place) {
        if (block.count > 0) schedule.receive(block, real(place), team.scope);
    };
    auto send = [&](const Block &block, int place) {
        if (block.count > 0) schedule.send(block, real(place), team.scope);
    };
    int mask = 1;
    while (mask < team.size && (relative & mask) == 0) mask *= 2;
    if (relative != 0) receive(pieces(relative, std::min(relative + mask, team.size)), relative - mask);
    schedule.end_round();
    for (mask /= 2; mask > 0; mask /= 2)
        if (relative + mask < team.size)
            send(pieces(relative + mask, std::min(relative + 2 * mask, team.size)), relative + mask);
    schedule.end_round();
    for (int i = 0; i < team.size - 1; ++i) {
        int mine = (relative - i + team.size) % team.size;
        int next = (relative - i - 1 + team.size) % team.size;
        receive(pieces(next, next + 1), relative - 1);
        send(pieces(mine, mine + 1), relative + 1);
        schedule.end_round();
    }
}

} // namespace

void add_broadcast(Schedule &schedule, const Team &team, const Block &block, int root) {
    Count bytes = block.bytes();
    if (team.size == 1 || bytes == 0) return;
    Algorithm algorithm = choose({.operation = Collective::bcast,
                                  .means = Means::messages,
                                  .communicator = *schedule.communicator,
                                  .ranks = team.size,
                                  .bytes = bytes});
    if (algorithm == Algorithm::binomial) return add_tree(schedule, team, block, root);
    char *data = nullptr;
    if (flat(block, data)) return add_cut(schedule, team, data, bytes, root);
    Block packed = bytes_at(schedule.temporary(bytes), bytes);
    if (team.rank == root) schedule.copy(block, packed);
    add_cut(schedule, team, packed.address, bytes, root);
    if (team.rank != root) schedule.copy(packed, block);
}

} // namespace volley
