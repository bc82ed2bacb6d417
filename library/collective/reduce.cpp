// SPDX-License-Identifier: BSD-3-Clause
/// Reductions. Operands are combined in the order of ranks wherever the operation does not commute, and each part of
/// the result is computed once, or from the same operands in the same order, so that all ranks see the same.
#include "collective/algorithms.h"
#include "collective/selection.h"

#include <algorithm>
#include <utility>

namespace volley {
namespace {

/// A partial result, and a second buffer that takes turns with it: `theirs` is combined with `mine`, and the result is
/// `mine` again. So nothing has to be copied, and any operation only needs inout = in op inout.
struct Partial {
    char *mine;
    char *theirs;

    void combine(Schedule &schedule, Count count, bool theirs_first) {
        if (theirs_first) return schedule.fold(theirs, mine, count);
        schedule.fold(mine, theirs, count);
        std::swap(mine, theirs);
    }

    /// The same with `mine` left as it is, and the result elsewhere: it is `mine` from then on.
    void combine_into(Schedule &schedule, char *out, Count count, bool theirs_first) {
        if (theirs_first)
            schedule.join(theirs, mine, out, count);
        else
            schedule.join(mine, theirs, out, count);
        mine = out;
    }
};

char *address_of(const void *data) {
    return static_cast<char *>(const_cast<void *>(data));
}

void deliver(Schedule &schedule, const char *from, void *to, Count count) {
    if (from != to) schedule.copy(operands_at(schedule, from, count), operands_at(schedule, to, count));
}

/// Reduces up a binomial tree. A rank's subtree consists of consecutive ranks from its own on, which keeps the order.
void add_tree(Schedule &schedule, const Team &team, const void *own, void *result, Count count, int root) {
    const Datatype &type = schedule.reduction().datatype();
    int relative = (team.rank - root + team.size) % team.size;
    auto real = [&](int place) { return (place + root + team.size) % team.size; };
    Partial partial{address_of(own), nullptr};
    char *spare[2] = {nullptr, nullptr};
    int turn = 0;
    for (int mask = 1; mask < team.size; mask *= 2) {
        if ((relative & mask) != 0) {
            schedule.send(operands_at(schedule, partial.mine, count), real(relative - mask), team.scope);
            return schedule.end_round();
        }
        if (relative + mask >= team.size) continue;
        if (spare[turn] == nullptr) spare[turn] = schedule.temporary(count, type);
        schedule.receive(operands_at(schedule, spare[turn], count), real(relative + mask), team.scope);
        schedule.end_round();
        partial.theirs = spare[turn];
        bool is_last = relative == 0 && mask * 2 >= team.size;
        if (is_last && partial.mine != result)
            partial.combine_into(schedule, static_cast<char *>(result), count, false);
        else
            partial.combine(schedule, count, false);
        turn = 1 - turn;
    }
    deliver(schedule, partial.mine, result, count);
    schedule.end_round();
}

/// Each rank's slices are sent to their owners at once, and are combined there in the order of ranks.
void add_slices_together(Schedule &schedule, const Team &team, const char *own, void *result, const Slices &slices) {
    const Datatype &type = schedule.reduction().datatype();
    auto place = [&](int i) { return own + slices.begin[static_cast<std::size_t>(i)] * type.extent(); };
    Count count = slices.length(team.rank);
    std::vector<char *> operand(static_cast<std::size_t>(team.size));
    for (int i = 0; i < team.size; ++i) {
        char *&at = operand[static_cast<std::size_t>(i)];
        bool is_last = i == team.size - 1; // It will be overwritten.
        at = i == team.rank && !is_last ? address_of(place(i)) : schedule.temporary(count, type);
        if (i == team.rank && is_last)
            schedule.copy(operands_at(schedule, place(i), count), operands_at(schedule, at, count));
        if (i != team.rank && count > 0) schedule.receive(operands_at(schedule, at, count), i, team.scope);
    }
    for (int i = 1; i < team.size; ++i) {
        int peer = (team.rank + i) % team.size;
        if (slices.length(peer) > 0)
            schedule.send(operands_at(schedule, place(peer), slices.length(peer)), peer, team.scope);
    }
    schedule.end_round();
    for (std::size_t i = operand.size() - 1; i-- > 0;) schedule.fold(operand[i], operand.back(), count);
    deliver(schedule, operand.back(), result, count);
    schedule.end_round();
}

/// Exchanges slices with one partner per round, while the slice received in the round before is reduced. For operations
/// that commute.
void add_slices_in_pairs(Schedule &schedule, const Team &team, const char *own, void *result, const Slices &slices) {
    const Datatype &type = schedule.reduction().datatype();
    auto place = [&](int i) { return address_of(own) + slices.begin[static_cast<std::size_t>(i)] * type.extent(); };
    Count count = slices.length(team.rank);
    char *sum = schedule.temporary(count, type);
    char *arriving[2] = {schedule.temporary(count, type), schedule.temporary(count, type)};
    for (int i = 1; i < team.size; ++i) {
        int to = (team.rank + i) % team.size, from = (team.rank - i + team.size) % team.size;
        char *buffer = i == 1 ? sum : arriving[i % 2];
        if (count > 0) schedule.receive(operands_at(schedule, buffer, count), from, team.scope);
        if (slices.length(to) > 0) schedule.send(operands_at(schedule, place(to), slices.length(to)), to, team.scope);
        if (i == 2) schedule.fold(place(team.rank), sum, count);
        if (i > 2) schedule.fold(arriving[(i - 1) % 2], sum, count);
        schedule.end_round();
    }
    if (team.size == 2)
        schedule.fold(place(team.rank), sum, count);
    else
        schedule.fold(arriving[(team.size - 1) % 2], sum, count);
    deliver(schedule, sum, result, count);
    schedule.end_round();
}

/// Pairs of ranks whose distance doubles exchange what they have. Of the ranks beyond a power of two, each first
/// gives its operand to its neighbour, and gets the result from there at the end.
void add_doubling(Schedule &schedule, const Team &team, const void *own, void *result, Count count) {
    const Datatype &type = schedule.reduction().datatype();
    auto data = [&](const char *at) { return operands_at(schedule, at, count); };
    int power = 1;
    while (power * 2 <= team.size) power *= 2;
    int beyond = team.size - power;
    bool paired = team.rank < 2 * beyond;
    if (paired && team.rank % 2 == 0) {
        schedule.send(data(address_of(own)), team.rank + 1, team.scope);
        schedule.end_round();
        schedule.receive(data(address_of(result)), team.rank + 1, team.scope);
        return schedule.end_round();
    }
    Partial partial{address_of(own), schedule.temporary(count, type)};
    auto combine = [&](bool theirs_first) { // The user's operands are not to be changed.
        if (partial.mine == own && own != result)
            partial.combine_into(schedule, address_of(result), count, theirs_first);
        else
            partial.combine(schedule, count, theirs_first);
    };
    if (paired) {
        schedule.receive(data(partial.theirs), team.rank - 1, team.scope);
        schedule.end_round();
        combine(true);
    }
    int place = paired ? team.rank / 2 : team.rank - beyond;
    for (int mask = 1; mask < power; mask *= 2) {
        int other = place ^ mask;
        int peer = other < beyond ? 2 * other + 1 : other + beyond;
        schedule.receive(data(partial.theirs), peer, team.scope);
        schedule.send(data(partial.mine), peer, team.scope);
        schedule.end_round();
        combine(other < place);
    }
    deliver(schedule, partial.mine, result, count);
    if (paired) schedule.send(data(partial.mine), team.rank - 1, team.scope);
    schedule.end_round();
}

Situation situation_of(const Schedule &schedule, Collective operation, const Team &team, Count count) {
    const Reduction &reduction = schedule.reduction();
    Count bytes = count * reduction.datatype().size();
    return {.operation = operation,
            .means = Means::messages,
            .communicator = *schedule.communicator,
            .ranks = team.size,
            .bytes = bytes,
            .total = bytes,
            .commutative = reduction.operation().is_commutative(),
            .elements = count};
}

void add_slices(Schedule &schedule, const Team &team, const void *own, void *result, const Slices &slices,
                Algorithm algorithm) {
    if (algorithm == Algorithm::pairwise)
        add_slices_in_pairs(schedule, team, address_of(own), result, slices);
    else
        add_slices_together(schedule, team, address_of(own), result, slices);
}

/// The first part of a reduction that is cut in slices.
void add_slices(Schedule &schedule, const Team &team, const void *own, void *result, const Slices &slices) {
    Situation situation = situation_of(schedule, Collective::reduce_scatter, team, slices.total());
    add_slices(schedule, team, own, result, slices, choose_part(situation));
}

} // namespace

Slices Slices::even(Count count, int pieces) {
    Slices slices;
    for (int i = 0; i <= pieces; ++i) slices.begin.push_back(count / pieces * i + std::min<Count>(count % pieces, i));
    return slices;
}

Slices Slices::of(CountArray counts, int pieces) {
    Slices slices;
    slices.begin.push_back(0);
    for (int i = 0; i < pieces; ++i) slices.begin.push_back(slices.begin.back() + counts[i]);
    return slices;
}

void add_reduce_scatter(Schedule &schedule, const Team &team, const void *own, void *result, const Slices &slices) {
    if (team.size == 1) return deliver(schedule, address_of(own), result, slices.total());
    Situation situation = situation_of(schedule, Collective::reduce_scatter, team, slices.total());
    add_slices(schedule, team, own, result, slices, choose(situation));
}

void add_reduce(Schedule &schedule, const Team &team, const void *own, void *result, Count count, int root) {
    if (count == 0) return;
    if (team.size == 1) return deliver(schedule, address_of(own), result, count);
    const Datatype &type = schedule.reduction().datatype();
    if (choose(situation_of(schedule, Collective::reduce, team, count)) != Algorithm::scatter_gather) {
        if (schedule.reduction().operation().is_commutative() || root == 0)
            return add_tree(schedule, team, own, result, count, root);
        char *reduced = team.rank == 0 ? schedule.temporary(count, type) : nullptr;
        add_tree(schedule, team, own, reduced, count, 0);
        if (team.rank == 0) schedule.send(operands_at(schedule, reduced, count), root, team.scope);
        if (team.rank == root) schedule.receive(operands_at(schedule, result, count), 0, team.scope);
        return schedule.end_round();
    }
    Slices slices = Slices::even(count, team.size);
    auto part = [&](void *base, int i) {
        return operands_at(schedule, address_of(base) + slices.begin[static_cast<std::size_t>(i)] * type.extent(),
                           slices.length(i));
    };
    if (team.rank != root) {
        char *mine = schedule.temporary(slices.length(team.rank), type);
        add_slices(schedule, team, own, mine, slices);
        schedule.send(operands_at(schedule, mine, slices.length(team.rank)), root, team.scope);
        return schedule.end_round();
    }
    add_slices(schedule, team, own, part(result, root).address, slices);
    for (int i = 0; i < team.size; ++i)
        if (i != root) schedule.receive(part(result, i), i, team.scope);
    schedule.end_round();
}

void add_allreduce(Schedule &schedule, const Team &team, const void *own, void *result, Count count) {
    if (count == 0) return;
    if (team.size == 1) return deliver(schedule, address_of(own), result, count);
    if (choose(situation_of(schedule, Collective::allreduce, team, count)) != Algorithm::ring)
        return add_doubling(schedule, team, own, result, count);
    const Datatype &type = schedule.reduction().datatype();
    Slices slices = Slices::even(count, team.size);
    auto part = [&](int i) {
        auto at = static_cast<std::size_t>((i + team.size) % team.size);
        return operands_at(schedule, address_of(result) + slices.begin[at] * type.extent(),
                           slices.length(static_cast<int>(at)));
    };
    add_slices(schedule, team, own, part(team.rank).address, slices);
    for (int i = 0; i < team.size - 1; ++i) {
        schedule.receive(part(team.rank - i - 1), (team.rank - 1 + team.size) % team.size, team.scope);
        schedule.send(part(team.rank - i), (team.rank + 1) % team.size, team.scope);
        schedule.end_round();
    }
}

} // namespace volley
