// SPDX-License-Identifier: BSD-3-Clause
#include "collective/algorithms.h"
#include "collective/selection.h"

#include <utility>

namespace volley {
namespace {

/// Pairs of ranks whose distance doubles exchange the reduction of their part of the ranks; a rank also puts what comes
/// from lower ranks before its own result. `has_result`: the result already holds this rank's operand.
void add_prefixes(Schedule &schedule, const Team &team, const void *own, char *result, Count count, bool has_result) {
    const Datatype &type = schedule.reduction().datatype();
    choose({.operation = Collective::scan,
            .means = Means::messages,
            .communicator = *schedule.communicator,
            .ranks = team.size,
            .bytes = count * type.size()}); // there is one algorithm
    auto data = [&](const void *at) { return operands_at(schedule, at, count); };
    char *partial = schedule.temporary(count, type);
    char *theirs = schedule.temporary(count, type);
    schedule.copy(data(own), data(partial));
    for (int mask = 1; mask < team.size; mask *= 2) {
        int peer = team.rank ^ mask;
        if (peer >= team.size) continue;
        schedule.receive(data(theirs), peer, team.scope);
        schedule.send(data(partial), peer, team.scope);
        schedule.end_round();
        if (peer > team.rank) {
            schedule.fold(partial, theirs, count);
            std::swap(partial, theirs);
            continue;
        }
        if (has_result)
            schedule.fold(theirs, result, count);
        else
            schedule.copy(data(theirs), data(result));
        has_result = true;
        schedule.fold(theirs, partial, count);
    }
    schedule.end_round();
}

} // namespace

void add_scan(Schedule &schedule, const Team &team, const void *own, void *result, Count count) {
    if (count == 0) return;
    if (own != result) schedule.copy(operands_at(schedule, own, count), operands_at(schedule, result, count));
    add_prefixes(schedule, team, own, static_cast<char *>(result), count, true);
}

/// The result of rank 0 is left alone (MPI 5.0, section 6.11.2).
void add_exscan(Schedule &schedule, const Team &team, const void *own, void *result, Count count) {
    if (count == 0) return;
    add_prefixes(schedule, team, own, static_cast<char *>(result), count, false);
}

} // namespace volley
