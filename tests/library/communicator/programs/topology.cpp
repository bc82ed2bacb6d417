// SPDX-License-Identifier: BSD-3-Clause
// Cartesian grids, graphs, distributed graphs. Their arithmetic is tested in library/core/topology_test.cpp.
#include "check.h"

#include <algorithm>

namespace {

int size, rank;

void test_grid() {
    int dims[2] = {0, 0}, periods[2] = {1, 0};
    MPI_Dims_create(size, 2, dims);
    CHECK(dims[0] * dims[1] == size && dims[0] >= dims[1]);
    MPI_Comm grid = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    CHECK(size_of(grid) == size);
    int status = 0, ndims = 0, got_dims[2], got_periods[2], coords[2], same = -1;
    MPI_Topo_test(grid, &status);
    CHECK(status == MPI_CART);
    MPI_Cartdim_get(grid, &ndims);
    CHECK(ndims == 2);
    MPI_Cart_get(grid, 2, got_dims, got_periods, coords);
    CHECK(got_dims[0] == dims[0] && got_dims[1] == dims[1] && got_periods[0] == 1 && got_periods[1] == 0);
    MPI_Cart_rank(grid, coords, &same);
    CHECK(same == rank_in(grid));

    // What is sent down the first dimension comes round; at the ends of the second there is nobody.
    int source = 0, destination = 0, value = rank_in(grid), got = -5;
    MPI_Cart_shift(grid, 0, 1, &source, &destination);
    MPI_Sendrecv(&value, 1, MPI_INT, destination, 0, &got, 1, MPI_INT, source, 0, grid, MPI_STATUS_IGNORE);
    CHECK(got == source);
    MPI_Cart_shift(grid, 1, 1, &source, &destination);
    CHECK((source == MPI_PROC_NULL) == (coords[1] == 0));
    CHECK((destination == MPI_PROC_NULL) == (coords[1] == dims[1] - 1));

    for (int kept = 0; kept < 4; kept++) {
        int remain[2] = {kept & 1, kept >> 1};
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Cart_sub(grid, remain, &part);
        CHECK(size_of(part) == (remain[0] ? dims[0] : 1) * (remain[1] ? dims[1] : 1));
        MPI_Cartdim_get(part, &ndims);
        CHECK(ndims == remain[0] + remain[1]);
        check_ring(part);
        MPI_Comm again = MPI_COMM_NULL; // duplicates keep the topology
        MPI_Comm_dup(part, &again);
        MPI_Topo_test(again, &status);
        CHECK(status == MPI_CART);
        MPI_Comm_free(&again);
        MPI_Comm_free(&part);
    }
    MPI_Comm_free(&grid);
}

void test_smaller_grid() {
    int periods[1] = {0}, dims[1] = {(size + 1) / 2}, newrank = 0;
    MPI_Comm grid = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
    CHECK((grid != MPI_COMM_NULL) == (rank < dims[0]));
    MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &newrank);
    CHECK((newrank != MPI_UNDEFINED) == (grid != MPI_COMM_NULL));
    if (grid != MPI_COMM_NULL) MPI_Comm_free(&grid);
    MPI_Cart_create(MPI_COMM_WORLD, 0, nullptr, nullptr, 0, &grid); // a point
    CHECK((grid != MPI_COMM_NULL) == (rank == 0));
    if (grid != MPI_COMM_NULL) MPI_Comm_free(&grid);
}

void test_graph() {
    // A ring in both directions.
    std::vector<int> index, edges;
    for (int node = 0; node < size; node++) {
        edges.push_back((node + 1) % size);
        edges.push_back((node + size - 1) % size);
        index.push_back(static_cast<int>(edges.size()));
    }
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 0, &graph);
    int status = 0, nodes = 0, edge_count = 0, neighbours[2], count = 0;
    MPI_Topo_test(graph, &status);
    CHECK(status == MPI_GRAPH);
    MPI_Graphdims_get(graph, &nodes, &edge_count);
    CHECK(nodes == size && edge_count == 2 * size);
    std::vector<int> got_index(index.size()), got_edges(edges.size());
    MPI_Graph_get(graph, nodes, edge_count, got_index.data(), got_edges.data());
    CHECK(got_index == index && got_edges == edges);
    MPI_Graph_neighbors_count(graph, rank, &count);
    MPI_Graph_neighbors(graph, rank, 2, neighbours);
    CHECK(count == 2 && neighbours[0] == (rank + 1) % size && neighbours[1] == (rank + size - 1) % size);
    MPI_Comm_free(&graph);
    MPI_Graph_create(MPI_COMM_WORLD, 0, nullptr, nullptr, 0, &graph);
    CHECK(graph == MPI_COMM_NULL);
}

void check_neighbours(MPI_Comm graph, std::vector<int> sources, std::vector<int> destinations, bool weighted) {
    int in = 0, out = 0, flag = 0;
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &flag);
    CHECK((flag != 0) == weighted);
    std::vector<int> got_sources(static_cast<std::size_t>(in)), got_destinations(static_cast<std::size_t>(out));
    std::vector<int> in_weights(got_sources.size(), -1), out_weights(got_destinations.size(), -1);
    MPI_Dist_graph_neighbors(graph, in, got_sources.data(), in_weights.data(), out, got_destinations.data(),
                             out_weights.data());
    if (weighted) { // the weight of an edge is its source times 100 plus its destination
        int own = rank_in(graph);
        for (std::size_t i = 0; i < got_sources.size(); i++) CHECK(in_weights[i] == got_sources[i] * 100 + own);
        for (std::size_t i = 0; i < got_destinations.size(); i++)
            CHECK(out_weights[i] == own * 100 + got_destinations[i]);
    }
    for (std::vector<int> *list : {&sources, &destinations, &got_sources, &got_destinations}) std::ranges::sort(*list);
    CHECK(got_sources == sources && got_destinations == destinations);
}

void test_adjacent() {
    std::vector<int> sources{(rank + size - 1) % size}, destinations{(rank + 1) % size};
    std::vector<int> in{sources[0] * 100 + rank}, out{rank * 100 + destinations[0]};
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources.data(), in.data(), 1, destinations.data(), out.data(),
                                   MPI_INFO_NULL, 0, &graph);
    check_neighbours(graph, sources, destinations, true);
    check_ring(graph);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources.data(), MPI_UNWEIGHTED, 1, destinations.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &graph);
    check_neighbours(graph, sources, destinations, false);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, nullptr, MPI_WEIGHTS_EMPTY, 0, nullptr, MPI_WEIGHTS_EMPTY,
                                   MPI_INFO_NULL, 0, &graph);
    check_neighbours(graph, {}, {}, true);
    MPI_Comm_free(&graph);
}

// Edges are told by processes that have nothing to do with them: rank 0 tells all of a star around the last rank, and
// every rank the edge from its successor to itself.
void test_distributed() {
    std::vector<int> sources{(rank + 1) % size}, degrees{1}, destinations{rank};
    if (rank == 0) {
        sources.push_back(size - 1);
        degrees.push_back(size);
        for (int other = 0; other < size; other++) destinations.push_back(other);
    }
    std::vector<int> weights;
    std::size_t edge = 0;
    for (std::size_t i = 0; i < sources.size(); i++)
        for (int j = 0; j < degrees[i]; j++) weights.push_back(sources[i] * 100 + destinations[edge++]);
    std::vector<int> in{(rank + 1) % size, size - 1}, out{(rank + size - 1) % size};
    if (rank == size - 1)
        for (int other = 0; other < size; other++) out.push_back(other);
    for (bool weighted : {true, false}) {
        MPI_Comm graph = MPI_COMM_NULL;
        MPI_Dist_graph_create(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(), degrees.data(),
                              destinations.data(), weighted ? weights.data() : MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                              &graph);
        check_neighbours(graph, in, out, weighted);
        MPI_Comm_free(&graph);
    }
    // Processes that tell of no edges say MPI_WEIGHTS_EMPTY.
    MPI_Comm graph = MPI_COMM_NULL;
    int zero = 0, one = 1, weight = 0;
    if (rank == 0)
        MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &one, &zero, &weight, MPI_INFO_NULL, 0, &graph);
    else
        MPI_Dist_graph_create(MPI_COMM_WORLD, 0, nullptr, nullptr, nullptr, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0,
                              &graph);
    check_neighbours(graph, rank == 0 ? std::vector<int>{0} : std::vector<int>{},
                     rank == 0 ? std::vector<int>{0} : std::vector<int>{}, true);
    MPI_Comm_free(&graph);
}

void test_refused() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int dims[2] = {size, 2}, periods[2] = {0, 0}, ndims = 0;
    MPI_Comm grid = MPI_COMM_NULL;
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid) != MPI_SUCCESS);
    CHECK(class_of(MPI_Cartdim_get(MPI_COMM_WORLD, &ndims)) == MPI_ERR_TOPOLOGY);
    int zero[2] = {7, 0};
    CHECK(class_of(MPI_Dims_create(12, 2, zero)) == MPI_ERR_DIMS);
    int nobody = size;
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &nobody, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &grid) != MPI_SUCCESS);
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    size = size_of(MPI_COMM_WORLD);
    rank = rank_in(MPI_COMM_WORLD);
    test_grid();
    test_smaller_grid();
    test_graph();
    test_adjacent();
    test_distributed();
    test_refused();
    MPI_Finalize();
}
