// SPDX-License-Identifier: BSD-3-Clause
/// Barrier, broadcast, gather and scatter, allgather and alltoall (MPI 5.0, sections 6.3 to 6.8).
#include "collective/algorithms.h"
#include "collective/plans.h"

namespace volley {
namespace {

/// A message each way between the ranks 0 of both groups of an intercommunicator.
void add_meeting(Schedule &schedule, const Block &received, const Block &sent) {
    schedule.receive(received, 0);
    schedule.send(sent, 0);
    schedule.end_round();
}

/// One side of an operation with a root: whether this rank is the root, or one of those it has to do with. In an
/// intercommunicator the root and its counterparts are in different groups, and others only look on.
struct Part {
    bool is_root;
    bool is_counterpart;

    Part(const Communicator &communicator, int root) {
        is_root = root == (communicator.is_inter() ? MPI_ROOT : communicator.rank());
        is_counterpart = !communicator.is_inter() || root >= 0;
    }
};

template <class PassedAll>
int gather(Schedule &schedule, const Passed &passed_own, const PassedAll &passed_all, int root) {
    Communicator &communicator = *schedule.communicator;
    Arguments arguments;
    arguments.root(root, communicator);
    Part part(communicator, root);
    bool in_place = part.is_root && !communicator.is_inter() && passed_own.buffer == MPI_IN_PLACE;
    Block own;
    Blocks all;
    if (arguments.ok() && part.is_counterpart && !in_place) own = arguments.block(send_names, passed_own);
    if (arguments.ok() && part.is_root) {
        arguments.not_in_place("recvbuf", passed_all.buffer, "there");
        all = arguments.blocks(receive_names, passed_all, communicator.peers());
        if (arguments.ok() && own.type != nullptr) arguments.apart(own, all[root]);
    }
    if (!arguments.ok()) return arguments.code();
    schedule.is_about(root, passed_own.count, passed_own.type);
    if (communicator.is_inter()) {
        if (part.is_root)
            for (int i = 0; i < communicator.peers(); ++i)
                if (all[i].bytes() > 0) schedule.receive(all[i], i);
        if (part.is_counterpart && own.bytes() > 0) schedule.send(own, root);
    } else if (all.uniform() && std::is_same_v<PassedAll, Passed>) {
        add_gather(schedule, Team::all(communicator), own, all, part.is_root ? all[root].bytes() : own.bytes(), root);
    } else {
        add_gather_each(schedule, Team::all(communicator), own, all, root);
    }
    return MPI_SUCCESS;
}

template <class PassedAll>
int scatter(Schedule &schedule, const PassedAll &passed_all, const Passed &passed_own, int root) {
    Communicator &communicator = *schedule.communicator;
    Arguments arguments;
    arguments.root(root, communicator);
    Part part(communicator, root);
    bool in_place = part.is_root && !communicator.is_inter() && passed_own.buffer == MPI_IN_PLACE;
    Block own;
    Blocks all;
    if (arguments.ok() && part.is_counterpart && !in_place) own = arguments.block(receive_names, passed_own);
    if (arguments.ok() && part.is_root) {
        arguments.not_in_place("sendbuf", passed_all.buffer, "there");
        all = arguments.blocks(send_names, passed_all, communicator.peers());
        if (arguments.ok() && own.type != nullptr) arguments.apart(all[root], own);
    }
    if (!arguments.ok()) return arguments.code();
    schedule.is_about(root, passed_own.count, passed_own.type);
    if (communicator.is_inter()) {
        if (part.is_root)
            for (int i = 0; i < communicator.peers(); ++i)
                if (all[i].bytes() > 0) schedule.send(all[i], i);
        if (part.is_counterpart && own.bytes() > 0) schedule.receive(own, root);
    } else if (std::is_same_v<PassedAll, Passed>) {
        add_scatter(schedule, Team::all(communicator), all, own, part.is_root ? all[root].bytes() : own.bytes(), root);
    } else {
        add_scatter_each(schedule, Team::all(communicator), all, own, root);
    }
    return MPI_SUCCESS;
}

/// Everything between the two groups of an intercommunicator, at once.
template <class From> void add_exchange(Schedule &schedule, From &&from, const Blocks &to) {
    int peers = schedule.communicator->peers();
    for (int i = 0; i < peers; ++i)
        if (to[i].bytes() > 0) schedule.receive(to[i], i);
    int first = schedule.communicator->rank();
    for (int i = 0; i < peers; ++i) {
        int peer = (first + i) % peers; // so that not all ranks send to the same rank at a time
        if (Block block = from(peer); block.bytes() > 0) schedule.send(block, peer);
    }
}

template <class PassedAll> int allgather(Schedule &schedule, const Passed &passed_own, const PassedAll &passed_all) {
    Communicator &communicator = *schedule.communicator;
    Arguments arguments;
    bool in_place = !communicator.is_inter() && passed_own.buffer == MPI_IN_PLACE;
    Block own;
    if (!in_place) own = arguments.block(send_names, passed_own);
    arguments.not_in_place("recvbuf", passed_all.buffer, "there");
    Blocks all = arguments.blocks(receive_names, passed_all, communicator.peers());
    if (arguments.ok() && !in_place && !communicator.is_inter()) arguments.apart(own, all[communicator.rank()]);
    if (!arguments.ok()) return arguments.code();
    schedule.is_about(MPI_ANY_SOURCE, passed_own.count, passed_own.type);
    if (communicator.is_inter())
        add_exchange(schedule, [&](int) { return own; }, all);
    else
        add_allgather(schedule, Team::all(communicator), own, all);
    return MPI_SUCCESS;
}

template <class PassedAll> int alltoall(Schedule &schedule, const PassedAll &passed_from, const PassedAll &passed_to) {
    Communicator &communicator = *schedule.communicator;
    Arguments arguments;
    bool in_place = !communicator.is_inter() && passed_from.buffer == MPI_IN_PLACE;
    Blocks from;
    if (!in_place) from = arguments.blocks(send_names, passed_from, communicator.peers());
    arguments.not_in_place("recvbuf", passed_to.buffer, "there");
    Blocks to = arguments.blocks(receive_names, passed_to, communicator.peers());
    if (arguments.ok() && !in_place && std::is_same_v<PassedAll, Passed>) arguments.apart(from[0], to[0]);
    if (!arguments.ok()) return arguments.code();
    schedule.is_about(MPI_ANY_SOURCE, 0, MPI_DATATYPE_NULL);
    if (communicator.is_inter())
        add_exchange(schedule, [&](int peer) { return from[peer]; }, to);
    else if (in_place)
        add_alltoall_in_place(schedule, Team::all(communicator), to);
    else
        add_alltoall(schedule, Team::all(communicator), from, to);
    return MPI_SUCCESS;
}

} // namespace

int plan_barrier(Schedule &schedule) {
    Communicator &communicator = *schedule.communicator;
    schedule.is_about(MPI_ANY_SOURCE, 0, MPI_DATATYPE_NULL);
    if (!communicator.is_inter()) {
        add_barrier(schedule, Team::all(communicator));
        return MPI_SUCCESS;
    }
    Team team = Team::local(communicator);
    add_check_in(schedule, team);
    if (team.rank == 0) add_meeting(schedule, bytes_at(nullptr, 0), bytes_at(nullptr, 0));
    add_release(schedule, team);
    return MPI_SUCCESS;
}

int plan_broadcast(Schedule &schedule, const Passed &data, int root) {
    Communicator &communicator = *schedule.communicator;
    Arguments arguments;
    arguments.root(root, communicator);
    if (!arguments.ok()) return arguments.code();
    if (root == MPI_PROC_NULL) return MPI_SUCCESS;
    Block block = arguments.block({"buffer", "count", "datatype"}, data);
    arguments.not_in_place("buffer", data.buffer, "in a broadcast");
    if (!arguments.ok()) return arguments.code();
    schedule.is_about(root, data.count, data.type);
    if (!communicator.is_inter()) {
        add_broadcast(schedule, Team::all(communicator), block, root);
        return MPI_SUCCESS;
    }
    if (block.bytes() == 0) return MPI_SUCCESS;
    if (root == MPI_ROOT) {
        schedule.send(block, 0);
        return MPI_SUCCESS;
    }
    if (communicator.rank() == 0) schedule.receive(block, root);
    schedule.end_round();
    add_broadcast(schedule, Team::local(communicator), block, 0);
    return MPI_SUCCESS;
}

int plan_gather(Schedule &schedule, const Passed &own, const Passed &all, int root) {
    return gather(schedule, own, all, root);
}

int plan_gather_each(Schedule &schedule, const Passed &own, const PassedEach &all, int root) {
    return gather(schedule, own, all, root);
}

int plan_scatter(Schedule &schedule, const Passed &all, const Passed &own, int root) {
    return scatter(schedule, all, own, root);
}

int plan_scatter_each(Schedule &schedule, const PassedEach &all, const Passed &own, int root) {
    return scatter(schedule, all, own, root);
}

int plan_allgather(Schedule &schedule, const Passed &own, const Passed &all) {
    return allgather(schedule, own, all);
}

int plan_allgather_each(Schedule &schedule, const Passed &own, const PassedEach &all) {
    return allgather(schedule, own, all);
}

int plan_alltoall(Schedule &schedule, const Passed &from, const Passed &to) {
    return alltoall(schedule, from, to);
}

int plan_alltoall_each(Schedule &schedule, const PassedEach &from, const PassedEach &to) {
    return alltoall(schedule, from, to);
}

int plan_alltoall_mixed(Schedule &schedule, const PassedMixed &from, const PassedMixed &to) {
    return alltoall(schedule, from, to);
}

} // namespace volley
