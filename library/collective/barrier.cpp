// SPDX-License-Identifier: BSD-3-Clause
#include "collective/algorithms.h"
#include "collective/selection.h"

namespace volley {

Block bytes_at(const void *address, Count bytes) {
    static Datatype *byte = Datatype::from_handle(MPI_BYTE);
    return {static_cast<char *>(const_cast<void *>(address)), bytes, byte};
}

bool flat(const Block &block, char *&address) {
    address = block.address + block.type->true_lb();
    return block.type->is_contiguous();
}

/// Dissemination: after round k everyone has heard, directly or not, of 2^k ranks before it.
void add_barrier(Schedule &schedule, const Team &team) {
    choose({.operation = Collective::barrier,
            .means = Means::messages,
            .communicator = *schedule.communicator,
            .ranks = team.size}); // there is one algorithm
    for (int distance = 1; distance < team.size; distance *= 2) {
        schedule.receive(bytes_at(nullptr, 0), (team.rank - distance + team.size) % team.size, team.scope);
        schedule.send(bytes_at(nullptr, 0), (team.rank + distance) % team.size, team.scope);
        schedule.end_round();
    }
}

void add_check_in(Schedule &schedule, const Team &team) {
    for (int mask = 1; mask < team.size; mask *= 2) {
        if ((team.rank & mask) != 0) {
            schedule.end_round();
            schedule.send(bytes_at(nullptr, 0), team.rank - mask, team.scope);
            break;
        }
        if (team.rank + mask < team.size) schedule.receive(bytes_at(nullptr, 0), team.rank + mask, team.scope);
    }
    schedule.end_round();
}

void add_release(Schedule &schedule, const Team &team) {
    int mask = 1;
    while (mask < team.size && (team.rank & mask) == 0) mask *= 2;
    if (team.rank != 0) schedule.receive(bytes_at(nullptr, 0), team.rank - mask, team.scope);
    schedule.end_round();
    for (mask /= 2; mask > 0; mask /= 2)
        if (team.rank + mask < team.size) schedule.send(bytes_at(nullptr, 0), team.rank + mask, team.scope);
    schedule.end_round();
}

} // namespace volley
