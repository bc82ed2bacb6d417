// SPDX-License-Identifier: BSD-3-Clause
/// Reductions and scans (MPI 5.0, sections 6.9 to 6.11).
///
/// In an intercommunicator each group reduces its operands at its rank 0; the two ranks 0 then exchange the results,
/// each of which is meant for the other group.
#include "collective/algorithms.h"
#include "collective/plans.h"

namespace volley {
namespace {

/// Where this rank's operands are, and where its result goes, once the arguments are found right.
struct Operands {
    void *own = nullptr;
    void *result = nullptr;
    Count count = 0;
};

/// For operations whose every rank has operands and a result.
int decode(Schedule &schedule, const PassedOperands &passed, Operation &operation, Operands &operands) {
    Arguments arguments;
    bool in_place = !schedule.communicator->is_inter() && passed.own == MPI_IN_PLACE;
    Block result = arguments.operands("recvbuf", {passed.result, passed.count, passed.type}, operation);
    Block own = in_place ? result : arguments.operands("sendbuf", {passed.own, passed.count, passed.type}, operation);
    arguments.not_in_place("recvbuf", passed.result, "there");
    if (!in_place) arguments.apart(own, result);
    if (!arguments.ok()) return arguments.code();
    schedule.is_about(MPI_ANY_SOURCE, passed.count, passed.type);
    schedule.reduce_by(operation, *result.type);
    operands = {own.address, result.address, passed.count};
    return MPI_SUCCESS;
}

int refuse_intercommunicator(const Schedule &schedule, const char *function) {
    Arguments arguments;
    arguments.intracommunicator(*schedule.communicator, function);
    return arguments.code();
}

/// The own group's operands come together at its rank 0, and go to that of the other group, whose come here:
/// returns where they will be, at rank 0.
char *add_group_exchange(Schedule &schedule, const void *own, char *result, Count count) {
    Team team = Team::local(*schedule.communicator);
    const Datatype &type = schedule.reduction().datatype();
    if (count == 0) return nullptr;
    char *reduced = team.rank == 0 ? schedule.temporary(count, type) : nullptr;
    add_reduce(schedule, team, own, reduced, count, 0);
    schedule.end_round();
    if (team.rank != 0) return nullptr;
    if (result == nullptr) result = schedule.temporary(count, type);
    schedule.receive(operands_at(schedule, result, count), 0);
    schedule.send(operands_at(schedule, reduced, count), 0);
    schedule.end_round();
    return result;
}

/// `own` holds the operands of all slices.
void add_intergroup_reduce_scatter(Schedule &schedule, const Operands &operands, const Slices &slices) {
    Team team = Team::local(*schedule.communicator);
    const Datatype &type = schedule.reduction().datatype();
    char *all = add_group_exchange(schedule, operands.own, nullptr, slices.total());
    auto slice = [&](int i) {
        return operands_at(schedule, all + slices.begin[static_cast<std::size_t>(i)] * type.extent(), slices.length(i));
    };
    Block mine = operands_at(schedule, operands.result, slices.length(team.rank));
    if (team.rank == 0) {
        for (int i = 1; i < team.size; ++i)
            if (slices.length(i) > 0) schedule.send(slice(i), i, team.scope);
        if (mine.count > 0) schedule.copy(slice(0), mine);
    } else if (mine.count > 0) {
        schedule.receive(mine, 0, team.scope);
    }
}

void add_any_reduce_scatter(Schedule &schedule, const Operands &operands, const Slices &slices) {
    if (slices.total() == 0) return;
    if (schedule.communicator->is_inter())
        add_intergroup_reduce_scatter(schedule, operands, slices);
    else
        add_reduce_scatter(schedule, Team::all(*schedule.communicator), operands.own, operands.result, slices);
}

int plan_intergroup_reduce(Schedule &schedule, const PassedOperands &passed, Operation &operation, int root) {
    if (root == MPI_PROC_NULL) return MPI_SUCCESS;
    Arguments arguments;
    bool is_root = root == MPI_ROOT;
    Block data = is_root ? arguments.operands("recvbuf", {passed.result, passed.count, passed.type}, operation)
                         : arguments.operands("sendbuf", {passed.own, passed.count, passed.type}, operation);
    if (!arguments.ok()) return arguments.code();
    if (data.count == 0) return MPI_SUCCESS;
    schedule.reduce_by(operation, *data.type);
    Team team = Team::local(*schedule.communicator);
    if (is_root) {
        schedule.receive(data, 0);
        return MPI_SUCCESS;
    }
    char *reduced = team.rank == 0 ? schedule.temporary(data.count, *data.type) : nullptr;
    add_reduce(schedule, team, data.address, reduced, data.count, 0);
    schedule.end_round();
    if (team.rank == 0) schedule.send(operands_at(schedule, reduced, data.count), root);
    return MPI_SUCCESS;
}

} // namespace

int plan_reduce(Schedule &schedule, const PassedOperands &passed, Operation &operation, int root) {
    Communicator &communicator = *schedule.communicator;
    Arguments arguments;
    arguments.root(root, communicator);
    if (!arguments.ok()) return arguments.code();
    schedule.is_about(root, passed.count, passed.type);
    if (communicator.is_inter()) return plan_intergroup_reduce(schedule, passed, operation, root);
    Block own, result;
    bool is_root = communicator.rank() == root;
    bool in_place = is_root && passed.own == MPI_IN_PLACE;
    if (is_root) {
        result = arguments.operands("recvbuf", {passed.result, passed.count, passed.type}, operation);
        arguments.not_in_place("recvbuf", passed.result, "there");
    }
    own = in_place ? result : arguments.operands("sendbuf", {passed.own, passed.count, passed.type}, operation);
    if (is_root && !in_place) arguments.apart(own, result);
    if (!arguments.ok()) return arguments.code();
    schedule.reduce_by(operation, *own.type);
    add_reduce(schedule, Team::all(communicator), own.address, result.address, own.count, root);
    return MPI_SUCCESS;
}

int plan_allreduce(Schedule &schedule, const PassedOperands &passed, Operation &operation) {
    Operands operands;
    if (int code = decode(schedule, passed, operation, operands); code != MPI_SUCCESS) return code;
    Communicator &communicator = *schedule.communicator;
    if (!communicator.is_inter()) {
        add_allreduce(schedule, Team::all(communicator), operands.own, operands.result, operands.count);
        return MPI_SUCCESS;
    }
    add_group_exchange(schedule, operands.own, static_cast<char *>(operands.result), operands.count);
    add_broadcast(schedule, Team::local(communicator), operands_at(schedule, operands.result, operands.count), 0);
    return MPI_SUCCESS;
}

int plan_reduce_scatter_block(Schedule &schedule, const PassedOperands &passed, Operation &operation) {
    Operands operands;
    if (int code = decode(schedule, passed, operation, operands); code != MPI_SUCCESS) return code;
    int size = schedule.communicator->size();
    Arguments arguments;
    arguments.repeated("recvcount", operands.count, size, schedule.reduction().datatype());
    if (!arguments.ok()) return arguments.code();
    add_any_reduce_scatter(schedule, operands, Slices::even(operands.count * size, size));
    return MPI_SUCCESS;
}

int plan_reduce_scatter(Schedule &schedule, const PassedOperands &passed, CountArray counts, Operation &operation) {
    int size = schedule.communicator->size();
    Arguments arguments;
    arguments.total("recvcount", counts, size, passed.type);
    if (!arguments.ok()) return arguments.code();
    Slices slices = Slices::of(counts, size);
    Operands operands;
    PassedOperands own = passed;
    own.count = slices.length(schedule.communicator->rank());
    if (int code = decode(schedule, own, operation, operands); code != MPI_SUCCESS) return code;
    add_any_reduce_scatter(schedule, operands, slices);
    return MPI_SUCCESS;
}

int plan_scan(Schedule &schedule, const PassedOperands &passed, Operation &operation) {
    if (int code = refuse_intercommunicator(schedule, "MPI_Scan"); code != MPI_SUCCESS) return code;
    Operands operands;
    if (int code = decode(schedule, passed, operation, operands); code != MPI_SUCCESS) return code;
    add_scan(schedule, Team::all(*schedule.communicator), operands.own, operands.result, operands.count);
    return MPI_SUCCESS;
}

int plan_exscan(Schedule &schedule, const PassedOperands &passed, Operation &operation) {
    if (int code = refuse_intercommunicator(schedule, "MPI_Exscan"); code != MPI_SUCCESS) return code;
    Operands operands;
    if (int code = decode(schedule, passed, operation, operands); code != MPI_SUCCESS) return code;
    add_exscan(schedule, Team::all(*schedule.communicator), operands.own, operands.result, operands.count);
    return MPI_SUCCESS;
}

} // namespace volley
