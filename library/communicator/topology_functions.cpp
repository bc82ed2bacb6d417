// SPDX-License-Identifier: BSD-3-Clause
/// Cartesian grids and graphs (MPI 5.0, chapter 8); distributed graphs are in distributed_graph.cpp. Processes keep
/// the ranks they have: on one host no order is better than another.
#include "communicator/context_allocation.h"
#include "communicator/new_communicator.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/topology.h"

#include <algorithm>
#include <numeric>

namespace volley {
namespace {

/// The communicator of the first `processes` ranks, with a topology of its own.
int make_with_topology(Communicator &parent, int processes, Topology topology, MPI_Comm *handle) {
    std::vector<int> members(static_cast<std::size_t>(processes));
    std::iota(members.begin(), members.end(), 0);
    Communicator *made = nullptr;
    if (int code = make_subset(parent, members, made); code != MPI_SUCCESS) return code;
    if (made) made->topology = std::make_unique<Topology>(std::move(topology));
    *handle = hand_out(parent, made);
    return MPI_SUCCESS;
}

const char *name_of_kind(int kind) {
    switch (kind) {
    case MPI_CART:
        return "a Cartesian grid";
    case MPI_GRAPH:
        return "a graph";
    default:
        return "a distributed graph";
    }
}

/// MPI_SUCCESS if the communicator has a topology of that kind.
int expect(const Communicator &communicator, int kind) {
    if (communicator.topology && communicator.topology->kind == kind) return MPI_SUCCESS;
    return fail(MPI_ERR_TOPOLOGY, "the communicator has %s, but must have %s",
                communicator.topology ? name_of_kind(communicator.topology->kind) : "no topology", name_of_kind(kind));
}

int check_dimension_count(int ndims) {
    return ndims >= 0 ? MPI_SUCCESS : fail(MPI_ERR_DIMS, "ndims is %d, but must not be negative", ndims);
}

std::span<const int> span_of(const int *values, int count) {
    return {values, static_cast<std::size_t>(count)};
}

/// As many values as there are and there is room for.
void copy_some(const std::vector<int> &values, int room, int *to) {
    std::copy_n(values.begin(), std::min(values.size(), static_cast<std::size_t>(std::max(room, 0))), to);
}

int check_nodes(const Communicator &communicator, int nnodes) {
    if (nnodes >= 0 && nnodes <= communicator.size()) return MPI_SUCCESS;
    return fail(MPI_ERR_ARG, "nnodes is %d, but must be 0 to %d, the size of the communicator", nnodes,
                communicator.size());
}

} // namespace

namespace mpi {

int Topo_test(Communicator &comm, int *status) {
    *status = comm.topology ? comm.topology->kind : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int Dims_create(int nnodes, int ndims, int *dims) {
    if (int code = check_dimension_count(ndims); code != MPI_SUCCESS) return code;
    return create_dimensions(nnodes, {dims, static_cast<std::size_t>(ndims)});
}

int Cart_create(Communicator &comm_old, int ndims, const int *dims, const int *periods, int, MPI_Comm *comm_cart) {
    *comm_cart = MPI_COMM_NULL;
    if (int code = check_dimension_count(ndims); code != MPI_SUCCESS) return code;
    int processes = 0;
    if (int code = grid_size(span_of(dims, ndims), comm_old.size(), processes); code != MPI_SUCCESS) return code;
    Topology grid;
    grid.kind = MPI_CART;
    grid.dimensions.assign(dims, dims + ndims);
    std::transform(periods, periods + ndims, std::back_inserter(grid.periods), [](int period) { return period != 0; });
    grid.coordinates = coordinates_of(grid.dimensions, comm_old.rank());
    return make_with_topology(comm_old, processes, std::move(grid), comm_cart);
}

int Cartdim_get(Communicator &comm, int *ndims) {
    if (int code = expect(comm, MPI_CART); code != MPI_SUCCESS) return code;
    *ndims = static_cast<int>(comm.topology->dimensions.size());
    return MPI_SUCCESS;
}

int Cart_get(Communicator &comm, int maxdims, int *dims, int *periods, int *coords) {
    if (int code = expect(comm, MPI_CART); code != MPI_SUCCESS) return code;
    copy_some(comm.topology->dimensions, maxdims, dims);
    copy_some(comm.topology->periods, maxdims, periods);
    copy_some(comm.topology->coordinates, maxdims, coords);
    return MPI_SUCCESS;
}

int Cart_rank(Communicator &comm, const int *coords, int *rank) {
    if (int code = expect(comm, MPI_CART); code != MPI_SUCCESS) return code;
    return rank_at(*comm.topology, {coords, comm.topology->dimensions.size()}, *rank);
}

int Cart_coords(Communicator &comm, int rank, int maxdims, int *coords) {
    if (int code = expect(comm, MPI_CART); code != MPI_SUCCESS) return code;
    copy_some(coordinates_of(comm.topology->dimensions, rank), maxdims, coords);
    return MPI_SUCCESS;
}

int Cart_shift(Communicator &comm, int direction, int disp, int *rank_source, int *rank_dest) {
    if (int code = expect(comm, MPI_CART); code != MPI_SUCCESS) return code;
    const Topology &grid = *comm.topology;
    if (direction < 0 || static_cast<std::size_t>(direction) >= grid.dimensions.size())
        return fail(MPI_ERR_DIMS, "direction is %d, but the grid has %zu dimensions, counted from 0", direction,
                    grid.dimensions.size());
    *rank_source = neighbour_in_grid(grid, direction, -std::int64_t{disp});
    *rank_dest = neighbour_in_grid(grid, direction, disp);
    return MPI_SUCCESS;
}

int Cart_sub(Communicator &comm, const int *remain_dims, MPI_Comm *newcomm) {
    *newcomm = MPI_COMM_NULL;
    if (int code = expect(comm, MPI_CART); code != MPI_SUCCESS) return code;
    std::vector<int> members;
    Topology part = sub_grid(*comm.topology, {remain_dims, comm.topology->dimensions.size()}, members);
    Communicator *made = nullptr;
    if (int code = make_subset(comm, members, made); code != MPI_SUCCESS) return code;
    made->topology = std::make_unique<Topology>(std::move(part));
    *newcomm = hand_out(comm, made);
    return MPI_SUCCESS;
}

int Cart_map(Communicator &comm, int ndims, const int *dims, const int *, int *newrank) {
    if (int code = check_dimension_count(ndims); code != MPI_SUCCESS) return code;
    int processes = 0;
    if (int code = grid_size(span_of(dims, ndims), comm.size(), processes); code != MPI_SUCCESS) return code;
    *newrank = comm.rank() < processes ? comm.rank() : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int Graph_create(Communicator &comm_old, int nnodes, const int *indx, const int *edges, int, MPI_Comm *comm_graph) {
    *comm_graph = MPI_COMM_NULL;
    if (int code = check_nodes(comm_old, nnodes); code != MPI_SUCCESS) return code;
    if (int code = check_graph(nnodes, indx, edges); code != MPI_SUCCESS) return code;
    Topology graph;
    graph.kind = MPI_GRAPH;
    graph.index.assign(indx, indx + nnodes);
    graph.edges.assign(edges, edges + (nnodes > 0 ? indx[nnodes - 1] : 0));
    return make_with_topology(comm_old, nnodes, std::move(graph), comm_graph);
}

int Graphdims_get(Communicator &comm, int *nnodes, int *nedges) {
    if (int code = expect(comm, MPI_GRAPH); code != MPI_SUCCESS) return code;
    *nnodes = static_cast<int>(comm.topology->index.size());
    *nedges = static_cast<int>(comm.topology->edges.size());
    return MPI_SUCCESS;
}

int Graph_get(Communicator &comm, int maxindex, int maxedges, int *indx, int *edges) {
    if (int code = expect(comm, MPI_GRAPH); code != MPI_SUCCESS) return code;
    copy_some(comm.topology->index, maxindex, indx);
    copy_some(comm.topology->edges, maxedges, edges);
    return MPI_SUCCESS;
}

int Graph_neighbors_count(Communicator &comm, int rank, int *nneighbors) {
    if (int code = expect(comm, MPI_GRAPH); code != MPI_SUCCESS) return code;
    *nneighbors = static_cast<int>(graph_neighbours(*comm.topology, rank).size());
    return MPI_SUCCESS;
}

int Graph_neighbors(Communicator &comm, int rank, int maxneighbors, int *neighbors) {
    if (int code = expect(comm, MPI_GRAPH); code != MPI_SUCCESS) return code;
    std::span<const int> found = graph_neighbours(*comm.topology, rank);
    std::copy_n(found.begin(), std::min(found.size(), static_cast<std::size_t>(std::max(maxneighbors, 0))), neighbors);
    return MPI_SUCCESS;
}

int Graph_map(Communicator &comm, int nnodes, const int *, const int *, int *newrank) {
    if (int code = check_nodes(comm, nnodes); code != MPI_SUCCESS) return code;
    *newrank = comm.rank() < nnodes ? comm.rank() : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
