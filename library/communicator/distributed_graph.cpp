// SPDX-License-Identifier: BSD-3-Clause
/// Distributed graphs: every process knows its own neighbours only (MPI 5.0, section 8.5.4).
#include "collective/internal.h"
#include "communicator/context_allocation.h"
#include "communicator/new_communicator.h"
#include "core/error.h"
#include "core/functions.h"

#include <algorithm>
#include <numeric>

namespace volley {
namespace {

/// One edge as a process says it in MPI_Dist_graph_create; it may be between any two others.
struct Edge {
    std::int32_t source, destination, weight;
};

bool has_weights(const int *weights) {
    return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

int check_neighbours(const Communicator &communicator, const char *argument, int count, const int *ranks,
                     const int *weights) {
    if (count < 0) return fail(MPI_ERR_ARG, "the number of %s is %d, but must not be negative", argument, count);
    if (count > 0 && (!ranks || !weights || weights == MPI_WEIGHTS_EMPTY))
        return fail(MPI_ERR_ARG, "there are %d %s, but no array of them or of their weights", count, argument);
    for (int i = 0; i < count; i++)
        if (ranks[i] < 0 || ranks[i] >= communicator.size())
            return fail(MPI_ERR_RANK, "%s[%d] is %d, but the ranks in comm_old are 0 to %d", argument, i, ranks[i],
                        communicator.size() - 1);
    for (int i = 0; has_weights(weights) && i < count; i++)
        if (weights[i] < 0)
            return fail(MPI_ERR_ARG, "the weight of %s[%d] is %d, but must not be negative", argument, i, weights[i]);
    return MPI_SUCCESS;
}

/// The edges this process tells of.
int collect_edges(const Communicator &communicator, int n, const int *sources, const int *degrees,
                  const int *destinations, const int *weights, std::vector<Edge> &edges) {
    if (int code = check_neighbours(communicator, "sources", n, sources, MPI_UNWEIGHTED); code != MPI_SUCCESS)
        return code;
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (degrees[i] < 0) return fail(MPI_ERR_ARG, "degrees[%d] is %d, but must not be negative", i, degrees[i]);
        count += degrees[i];
    }
    if (int code = check_neighbours(communicator, "destinations", count, destinations, weights); code != MPI_SUCCESS)
        return code;
    int edge = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < degrees[i]; j++, edge++)
            edges.push_back({sources[i], destinations[edge], has_weights(weights) ? weights[edge] : 1});
    return MPI_SUCCESS;
}

/// Everybody learns all edges, and keeps those that concern it.
int distribute(Communicator &communicator, std::vector<Edge> own, Topology &graph) {
    std::int64_t facts[] = {static_cast<std::int64_t>(own.size()), graph.weighted};
    if (int code = allreduce_max(facts, 2, communicator); code != MPI_SUCCESS) return code;
    auto most = static_cast<std::size_t>(facts[0]);
    graph.weighted = facts[1] != 0;
    // Everybody sends as many; what is missing is filled with an edge between nobody.
    own.resize(most, {MPI_PROC_NULL, MPI_PROC_NULL, 0});
    std::vector<Edge> all(most * static_cast<std::size_t>(communicator.size()));
    if (int code = allgather(own.data(), static_cast<Count>(most * sizeof(Edge)), all.data(), communicator);
        code != MPI_SUCCESS)
        return code;
    for (const Edge &edge : all) {
        if (edge.destination == communicator.rank()) {
            graph.sources.push_back(edge.source);
            graph.source_weights.push_back(edge.weight);
        }
        if (edge.source == communicator.rank()) {
            graph.destinations.push_back(edge.destination);
            graph.destination_weights.push_back(edge.weight);
        }
    }
    return MPI_SUCCESS;
}

int make_distributed_graph(Communicator &parent, Topology graph, const Info *hints, MPI_Comm *handle) {
    std::vector<int> members(static_cast<std::size_t>(parent.size()));
    std::iota(members.begin(), members.end(), 0);
    Communicator *made = nullptr;
    if (int code = make_subset(parent, members, made); code != MPI_SUCCESS) return code;
    made->topology = std::make_unique<Topology>(std::move(graph));
    *handle = hand_out(parent, made, hints);
    return MPI_SUCCESS;
}

int expect_distributed_graph(const Communicator &communicator) {
    if (communicator.topology && communicator.topology->kind == MPI_DIST_GRAPH) return MPI_SUCCESS;
    return fail(MPI_ERR_TOPOLOGY, "the communicator has no distributed graph");
}

void copy_neighbours(const std::vector<int> &ranks, const std::vector<int> &weights, bool weighted, int room,
                     int *rank_room, int *weight_room) {
    std::size_t count = std::min(ranks.size(), static_cast<std::size_t>(room));
    std::copy_n(ranks.begin(), count, rank_room);
    if (weighted && has_weights(weight_room)) std::copy_n(weights.begin(), count, weight_room);
}

} // namespace

namespace mpi {

int Dist_graph_create_adjacent(Communicator &comm_old, int indegree, const int *sources, const int *sourceweights,
                               int outdegree, const int *destinations, const int *destweights, Info *info, int,
                               MPI_Comm *comm_dist_graph) {
    *comm_dist_graph = MPI_COMM_NULL;
    if (int code = check_neighbours(comm_old, "sources", indegree, sources, sourceweights); code != MPI_SUCCESS)
        return code;
    if (int code = check_neighbours(comm_old, "destinations", outdegree, destinations, destweights);
        code != MPI_SUCCESS)
        return code;
    Topology graph;
    graph.kind = MPI_DIST_GRAPH;
    // MPI_UNWEIGHTED is given by all processes or by none: one without neighbours says MPI_WEIGHTS_EMPTY.
    graph.weighted = sourceweights != MPI_UNWEIGHTED && destweights != MPI_UNWEIGHTED;
    auto weights = [](const int *given, int count) {
        return has_weights(given) ? std::vector<int>(given, given + count)
                                  : std::vector<int>(static_cast<std::size_t>(count), 1);
    };
    graph.sources.assign(sources, sources + indegree);
    graph.source_weights = weights(sourceweights, indegree);
    graph.destinations.assign(destinations, destinations + outdegree);
    graph.destination_weights = weights(destweights, outdegree);
    return make_distributed_graph(comm_old, std::move(graph), info, comm_dist_graph);
}

int Dist_graph_create(Communicator &comm_old, int n, const int *sources, const int *degrees, const int *destinations,
                      const int *weights, Info *info, int, MPI_Comm *comm_dist_graph) {
    *comm_dist_graph = MPI_COMM_NULL;
    std::vector<Edge> edges;
    if (int code = collect_edges(comm_old, n, sources, degrees, destinations, weights, edges); code != MPI_SUCCESS)
        return code;
    Topology graph;
    graph.kind = MPI_DIST_GRAPH;
    graph.weighted = weights != MPI_UNWEIGHTED;
    if (int code = distribute(comm_old, std::move(edges), graph); code != MPI_SUCCESS) return code;
    return make_distributed_graph(comm_old, std::move(graph), info, comm_dist_graph);
}

int Dist_graph_neighbors_count(Communicator &comm, int *indegree, int *outdegree, int *weighted) {
    if (int code = expect_distributed_graph(comm); code != MPI_SUCCESS) return code;
    *indegree = static_cast<int>(comm.topology->sources.size());
    *outdegree = static_cast<int>(comm.topology->destinations.size());
    *weighted = comm.topology->weighted;
    return MPI_SUCCESS;
}

int Dist_graph_neighbors(Communicator &comm, int maxindegree, int *sources, int *sourceweights, int maxoutdegree,
                         int *destinations, int *destweights) {
    if (int code = expect_distributed_graph(comm); code != MPI_SUCCESS) return code;
    if (maxindegree < 0 || maxoutdegree < 0)
        return fail(MPI_ERR_ARG, "maxindegree is %d and maxoutdegree %d, but neither may be negative", maxindegree,
                    maxoutdegree);
    const Topology &graph = *comm.topology;
    copy_neighbours(graph.sources, graph.source_weights, graph.weighted, maxindegree, sources, sourceweights);
    copy_neighbours(graph.destinations, graph.destination_weights, graph.weighted, maxoutdegree, destinations,
                    destweights);
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
