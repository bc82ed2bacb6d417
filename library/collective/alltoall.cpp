// SPDX-License-Identifier: BSD-3-Clause
#include "collective/algorithms.h"
#include "collective/selection.h"

#include <algorithm>

namespace volley {
namespace {

/// Messages started together: enough to keep all busy, few enough to search quickly.
constexpr int window = 32;

/// Bruck's algorithm: block i, for the rank i further on, travels the distances 2^k in the binary form of i.
void add_doubling(Schedule &schedule, const Team &team, const Blocks &from, const Blocks &to, Count bytes) {
    char *held = schedule.temporary(team.size * bytes);
    char *leaving = schedule.temporary((team.size + 1) / 2 * bytes);
    char *arriving = schedule.temporary((team.size + 1) / 2 * bytes);
    for (int i = 0; i < team.size; ++i)
        schedule.copy(from[(team.rank + i) % team.size], bytes_at(held + i * bytes, bytes));
    for (int distance = 1; distance < team.size; distance *= 2) {
        Count moved = 0;
        for (int i = 1; i < team.size; ++i)
            if ((i & distance) != 0)
                schedule.copy(bytes_at(held + i * bytes, bytes), bytes_at(leaving + moved++ * bytes, bytes));
        schedule.receive(bytes_at(arriving, moved * bytes), (team.rank - distance + team.size) % team.size, team.scope);
        schedule.send(bytes_at(leaving, moved * bytes), (team.rank + distance) % team.size, team.scope);
        schedule.end_round();
        moved = 0;
        for (int i = 1; i < team.size; ++i)
            if ((i & distance) != 0)
                schedule.copy(bytes_at(arriving + moved++ * bytes, bytes), bytes_at(held + i * bytes, bytes));
    }
    for (int i = 0; i < team.size; ++i)
        schedule.copy(bytes_at(held + i * bytes, bytes), to[(team.rank - i + team.size) % team.size]);
    schedule.end_round();
}

/// A switch with small buffers holds so many bytes for a port; more, from all senders at once, would be lost.
constexpr Count held_by_a_port = 48 << 10;

/// How blocks go to the other ranks. If what this rank sends to other nodes is more than a port holds, and so likely
/// what comes to it, it is announced: the receivers then let a few senders send at a time (transport/tcp/grants.h).
class ModesOfSending {
  public:
    ModesOfSending(const Schedule &schedule, const Team &team, const Blocks &from)
        : processes_((team.scope == Scope::peers ? schedule.communicator->peer_group() : schedule.communicator->local())
                         .processes()) {
        Count bytes = 0;
        for (int peer = 0; peer < team.size; peer++)
            if (is_elsewhere(peer)) bytes += from[peer].bytes();
        elsewhere_ = bytes > held_by_a_port ? SendMode::synchronous : SendMode::standard;
    }
    SendMode to(int peer) const {
        return is_elsewhere(peer) ? elsewhere_ : SendMode::standard;
    }

  private:
    bool is_elsewhere(int peer) const {
        return processes[processes_[static_cast<std::size_t>(peer)]].node != processes[node.rank].node;
    }
    const std::vector<ProcessIndex> &processes_;
    SendMode elsewhere_;
};

} // namespace

void add_alltoall(Schedule &schedule, const Team &team, const Blocks &from, const Blocks &to) {
    bool even = from.uniform() && to.uniform();
    Count bytes = even ? from[0].bytes() : 0;
    if (even && bytes == 0) return;
    Algorithm algorithm = choose({.operation = Collective::alltoall,
                                  .means = Means::messages,
                                  .communicator = *schedule.communicator,
                                  .ranks = team.size,
                                  .bytes = bytes,
                                  .even = even});
    if (algorithm == Algorithm::bruck) return add_doubling(schedule, team, from, to, bytes);
    const ModesOfSending modes(schedule, team, from);
    for (int first = 1; first < team.size; first += window) {
        int end = std::min(first + window, team.size);
        for (int i = first; i < end; ++i) {
            int peer = (team.rank - i + team.size) % team.size;
            if (Block block = to[peer]; block.bytes() > 0) schedule.receive(block, peer, team.scope);
        }
        for (int i = first; i < end; ++i) {
            int peer = (team.rank + i) % team.size;
            if (Block block = from[peer]; block.bytes() > 0) schedule.send(block, peer, team.scope, modes.to(peer));
        }
        if (first == 1) schedule.copy(from[team.rank], to[team.rank]);
        schedule.end_round();
    }
    if (team.size == 1) schedule.copy(from[0], to[0]);
}

/// With MPI_IN_PLACE: data to be sent is set aside first. Each peer gets as many bytes as come from it.
void add_alltoall_in_place(Schedule &schedule, const Team &team, const Blocks &blocks) {
    Count longest = 0;
    for (int first = 1; first <= team.size / 2; ++first) {
        // Pairs at distance `first` in both directions; two messages at a time, so that little is set aside.
        int peers[2] = {(team.rank + first) % team.size, (team.rank - first + team.size) % team.size};
        int count = peers[0] == peers[1] ? 1 : 2;
        for (int i = 0; i < count; ++i) longest = std::max(longest, blocks[peers[i]].bytes());
    }
    if (longest == 0) return;
    char *aside[2] = {schedule.temporary(longest), schedule.temporary(longest)};
    for (int first = 1; first <= team.size / 2; ++first) {
        int peers[2] = {(team.rank + first) % team.size, (team.rank - first + team.size) % team.size};
        int count = peers[0] == peers[1] ? 1 : 2;
        for (int i = 0; i < count; ++i) schedule.copy(blocks[peers[i]], bytes_at(aside[i], blocks[peers[i]].bytes()));
        for (int i = 0; i < count; ++i)
            if (Block block = blocks[peers[i]]; block.bytes() > 0) {
                schedule.receive(block, peers[i], team.scope);
                schedule.send(bytes_at(aside[i], block.bytes()), peers[i], team.scope);
            }
        schedule.end_round();
    }
}

} // namespace volley
