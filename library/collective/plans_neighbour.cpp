// SPDX-License-Identifier: BSD-3-Clause
/// Collective operations among the neighbours of a topology (MPI 5.0, sections 8.6 to 8.8).
#include "collective/algorithms.h"
#include "collective/internal.h"
#include "collective/plans.h"
#include "core/error.h"

namespace volley {
namespace {

/// The rank `steps` away in one dimension, or MPI_PROC_NULL. Ranks count row by row.
int shifted(const Topology &topology, std::size_t dimension, int steps) {
    int rank = 0;
    for (std::size_t i = 0; i < topology.dimensions.size(); ++i) {
        int length = topology.dimensions[i], coordinate = topology.coordinates[i];
        if (i == dimension) {
            coordinate += steps;
            if (topology.periods[i] != 0)
                coordinate = (coordinate + length) % length;
            else if (coordinate < 0 || coordinate >= length)
                return MPI_PROC_NULL;
        }
        rank = rank * length + coordinate;
    }
    return rank;
}

/// Of each dimension first the neighbour in the negative direction, then that in the positive one.
void cartesian_neighbours(const Topology &topology, std::vector<int> &neighbours) {
    for (std::size_t dimension = 0; dimension < topology.dimensions.size(); ++dimension) {
        neighbours.push_back(shifted(topology, dimension, -1));
        neighbours.push_back(shifted(topology, dimension, 1));
    }
}

void graph_neighbours(const Topology &topology, int rank, std::vector<int> &neighbours) {
    auto at = static_cast<std::size_t>(rank);
    int begin = rank == 0 ? 0 : topology.index[at - 1];
    neighbours.assign(topology.edges.begin() + begin, topology.edges.begin() + topology.index[at]);
}

struct Neighbours {
    std::vector<int> sources, destinations;
    bool cartesian = false;

    int find(const Communicator &communicator) {
        cartesian = communicator.topology != nullptr && communicator.topology->kind == MPI_CART;
        return neighbour_lists(communicator, sources, destinations);
    }
    int source_count() const {
        return static_cast<int>(sources.size());
    }
    int destination_count() const {
        return static_cast<int>(destinations.size());
    }
};

/// Two ranks may be neighbours more than once. What one sends in the negative direction of a grid arrives from the
/// other's positive one: in a ring of one or two processes, only the order of receives tells the two apart. In
/// graphs, the first message goes with the first edge.
template <class From> void add_exchange(Schedule &schedule, const Neighbours &with, From &&from, const Blocks &to) {
    for (int i = 0; i < with.source_count(); ++i) {
        int block = with.cartesian ? i ^ 1 : i;
        if (to[block].bytes() > 0) schedule.receive(to[block], with.sources[static_cast<std::size_t>(block)]);
    }
    for (int i = 0; i < with.destination_count(); ++i)
        if (Block block = from(i); block.bytes() > 0)
            schedule.send(block, with.destinations[static_cast<std::size_t>(i)]);
}

template <class PassedAll> int allgather(Schedule &schedule, const Passed &passed_own, const PassedAll &passed_all) {
    Neighbours neighbours;
    if (int code = neighbours.find(*schedule.communicator); code != MPI_SUCCESS) return code;
    Arguments arguments;
    arguments.not_in_place("sendbuf", passed_own.buffer, "among neighbours");
    arguments.not_in_place("recvbuf", passed_all.buffer, "among neighbours");
    Block own = arguments.block(send_names, passed_own);
    Blocks all = arguments.blocks(receive_names, passed_all, neighbours.source_count());
    if (!arguments.ok()) return arguments.code();
    schedule.is_about(MPI_ANY_SOURCE, passed_own.count, passed_own.type);
    add_exchange(schedule, neighbours, [&](int) { return own; }, all);
    return MPI_SUCCESS;
}

template <class PassedAll> int alltoall(Schedule &schedule, const PassedAll &passed_from, const PassedAll &passed_to) {
    Neighbours neighbours;
    if (int code = neighbours.find(*schedule.communicator); code != MPI_SUCCESS) return code;
    Arguments arguments;
    arguments.not_in_place("sendbuf", passed_from.buffer, "among neighbours");
    arguments.not_in_place("recvbuf", passed_to.buffer, "among neighbours");
    Blocks from = arguments.blocks(send_names, passed_from, neighbours.destination_count());
    Blocks to = arguments.blocks(receive_names, passed_to, neighbours.source_count());
    if (!arguments.ok()) return arguments.code();
    schedule.is_about(MPI_ANY_SOURCE, 0, MPI_DATATYPE_NULL);
    add_exchange(schedule, neighbours, [&](int i) { return from[i]; }, to);
    return MPI_SUCCESS;
}

} // namespace

int neighbour_lists(const Communicator &communicator, std::vector<int> &sources, std::vector<int> &destinations) {
    const Topology *topology = communicator.topology.get();
    int kind = topology != nullptr ? topology->kind : MPI_UNDEFINED;
    sources.clear();
    destinations.clear();
    if (kind == MPI_DIST_GRAPH) {
        sources = topology->sources;
        destinations = topology->destinations;
        return MPI_SUCCESS;
    }
    if (kind == MPI_CART)
        cartesian_neighbours(*topology, sources);
    else if (kind == MPI_GRAPH)
        graph_neighbours(*topology, communicator.rank(), sources);
    else
        return fail(MPI_ERR_TOPOLOGY, "comm has no topology, but neighbours are those of one");
    destinations = sources;
    return MPI_SUCCESS;
}

int plan_neighbour_allgather(Schedule &schedule, const Passed &own, const Passed &all) {
    return allgather(schedule, own, all);
}

int plan_neighbour_allgather_each(Schedule &schedule, const Passed &own, const PassedEach &all) {
    return allgather(schedule, own, all);
}

int plan_neighbour_alltoall(Schedule &schedule, const Passed &from, const Passed &to) {
    return alltoall(schedule, from, to);
}

int plan_neighbour_alltoall_each(Schedule &schedule, const PassedEach &from, const PassedEach &to) {
    return alltoall(schedule, from, to);
}

int plan_neighbour_alltoall_mixed(Schedule &schedule, const PassedMixed &from, const PassedMixed &to) {
    return alltoall(schedule, from, to);
}

} // namespace volley
