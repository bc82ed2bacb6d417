// SPDX-License-Identifier: BSD-3-Clause
/// Neighbourhood collectives on grids, graphs and distributed graphs.
#include "collective.h"

static MPI_Comm comm;
static int rank, trial;
static std::vector<int> sources, destinations;
/// Where the block this rank receives from its source number i was sent from: the source's destination number.
static std::vector<int> counterparts;

static int value(int from, int edge, int i) {
    return from * 1000003 + edge * 10007 + i * 7 + trial;
}

static void test_allgather() {
    Form form = any_form();
    int count = any_count() / 4, n = 2 * count;
    int in = static_cast<int>(sources.size());
    Buffer own(any_layout(), count), all(any_layout(), count * in);
    MPI_Datatype from = own.layout().type, to = all.layout().type;
    auto prepare = [&] {
        for (int i = 0; i < n; ++i) own.at(i) = value(rank, 0, i);
        all.clear();
    };
    auto verify = [&](const char *function) {
        for (int k = 0; k < in; ++k)
            for (int i = 0; i < n; ++i) {
                int source = sources[static_cast<std::size_t>(k)];
                expect(all.at(k * n + i), source == MPI_PROC_NULL ? untouched : value(source, 0, i), function, i);
            }
    };
    perform(
        form, prepare, [&] { MPI_Neighbor_allgather(own.data(), count, from, all.data(), count, to, comm); },
        [&](MPI_Request *q) { MPI_Ineighbor_allgather(own.data(), count, from, all.data(), count, to, comm, q); },
        [&](MPI_Request *q) {
            MPI_Neighbor_allgather_init(own.data(), count, from, all.data(), count, to, comm, MPI_INFO_NULL, q);
        },
        [&] { verify("MPI_Neighbor_allgather"); });
    std::vector<int> counts, places;
    for (int k = 0; k < in; ++k) {
        counts.push_back(count);
        places.push_back(k * count);
    }
    perform(
        form, prepare,
        [&] { MPI_Neighbor_allgatherv(own.data(), count, from, all.data(), counts.data(), places.data(), to, comm); },
        [&](MPI_Request *q) {
            MPI_Ineighbor_allgatherv(own.data(), count, from, all.data(), counts.data(), places.data(), to, comm, q);
        },
        [&](MPI_Request *q) {
            MPI_Neighbor_allgatherv_init(own.data(), count, from, all.data(), counts.data(), places.data(), to, comm,
                                         MPI_INFO_NULL, q);
        },
        [&] { verify("MPI_Neighbor_allgatherv"); });
}

static void test_alltoall() {
    Form form = any_form();
    int count = any_count() / 8, n = 2 * count;
    int in = static_cast<int>(sources.size()), out = static_cast<int>(destinations.size());
    Buffer sent(any_layout(), count * out), received(any_layout(), count * in);
    MPI_Datatype from = sent.layout().type, to = received.layout().type;
    auto prepare = [&] {
        for (int k = 0; k < out; ++k)
            for (int i = 0; i < n; ++i) sent.at(k * n + i) = value(rank, k, i);
        received.clear();
    };
    auto verify = [&](const char *function) {
        for (int k = 0; k < in; ++k)
            for (int i = 0; i < n; ++i) {
                auto at = static_cast<std::size_t>(k);
                int wanted = sources[at] == MPI_PROC_NULL ? untouched : value(sources[at], counterparts[at], i);
                expect(received.at(k * n + i), wanted, std::string(function) + " block " + std::to_string(k), i);
            }
    };
    perform(
        form, prepare, [&] { MPI_Neighbor_alltoall(sent.data(), count, from, received.data(), count, to, comm); },
        [&](MPI_Request *q) { MPI_Ineighbor_alltoall(sent.data(), count, from, received.data(), count, to, comm, q); },
        [&](MPI_Request *q) {
            MPI_Neighbor_alltoall_init(sent.data(), count, from, received.data(), count, to, comm, MPI_INFO_NULL, q);
        },
        [&] { verify("MPI_Neighbor_alltoall"); });
    std::vector<int> out_counts, out_places, in_counts, in_places;
    std::vector<MPI_Aint> out_bytes, in_bytes;
    std::vector<MPI_Datatype> out_types(static_cast<std::size_t>(out), from),
        in_types(static_cast<std::size_t>(in), to);
    for (int k = 0; k < out; ++k) {
        out_counts.push_back(count);
        out_places.push_back(k * count);
        out_bytes.push_back(MPI_Aint{k} * count * sent.layout().extent * 4);
    }
    for (int k = 0; k < in; ++k) {
        in_counts.push_back(count);
        in_places.push_back(k * count);
        in_bytes.push_back(MPI_Aint{k} * count * received.layout().extent * 4);
    }
    auto *oc = out_counts.data(), *op = out_places.data(), *ic = in_counts.data(), *ip = in_places.data();
    auto *ob = out_bytes.data(), *ib = in_bytes.data();
    auto *ot = out_types.data(), *it = in_types.data();
    perform(
        form, prepare, [&] { MPI_Neighbor_alltoallv(sent.data(), oc, op, from, received.data(), ic, ip, to, comm); },
        [&](MPI_Request *q) {
            MPI_Ineighbor_alltoallv(sent.data(), oc, op, from, received.data(), ic, ip, to, comm, q);
        },
        [&](MPI_Request *q) {
            MPI_Neighbor_alltoallv_init(sent.data(), oc, op, from, received.data(), ic, ip, to, comm, MPI_INFO_NULL, q);
        },
        [&] { verify("MPI_Neighbor_alltoallv"); });
    perform(
        form, prepare, [&] { MPI_Neighbor_alltoallw(sent.data(), oc, ob, ot, received.data(), ic, ib, it, comm); },
        [&](MPI_Request *q) { MPI_Ineighbor_alltoallw(sent.data(), oc, ob, ot, received.data(), ic, ib, it, comm, q); },
        [&](MPI_Request *q) {
            MPI_Neighbor_alltoallw_init(sent.data(), oc, ob, ot, received.data(), ic, ib, it, comm, MPI_INFO_NULL, q);
        },
        [&] { verify("MPI_Neighbor_alltoallw"); });
}

static void test_all() {
    for (trial = 0; trial < 8; ++trial) {
        test_allgather();
        test_alltoall();
    }
    MPI_Comm_free(&comm);
}

static void test_grid(int dimensions, bool periodic) {
    std::vector<int> lengths(static_cast<std::size_t>(dimensions)), periods(lengths.size(), periodic);
    MPI_Dims_create(world_size, dimensions, lengths.data());
    if (!periodic) periods[0] = 1; // mixed
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, lengths.data(), periods.data(), 0, &comm);
    MPI_Comm_rank(comm, &rank);
    sources.clear();
    counterparts.clear();
    for (int dimension = 0; dimension < dimensions; ++dimension) {
        int below, above;
        MPI_Cart_shift(comm, dimension, 1, &below, &above);
        sources.insert(sources.end(), {below, above});
        // What comes from below was sent upwards.
        counterparts.insert(counterparts.end(), {2 * dimension + 1, 2 * dimension});
    }
    destinations = sources;
    test_all();
}

/// Everyone with itself, the next one (twice) and the last one.
static std::vector<int> graph_edges(int node) {
    return {node, (node + 1) % world_size, (node + 1) % world_size, world_size - 1};
}

static void test_distributed_graph() {
    // Every rank names its destinations; sources follow, with the number of the edge at their other end.
    destinations = graph_edges(world_rank);
    sources.clear();
    counterparts.clear();
    for (int node = 0; node < world_size; ++node) {
        std::vector<int> edges = graph_edges(node);
        for (int k = 0; k < 4; ++k)
            if (edges[static_cast<std::size_t>(k)] == world_rank) {
                sources.push_back(node);
                counterparts.push_back(k);
            }
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    MPI_Comm_rank(comm, &rank);
    test_all();
}

/// A ring, every node with both neighbours: symmetric, as MPI_Graph_create wants it.
static void test_graph() {
    if (world_size < 3) return;
    std::vector<int> index, edges;
    for (int node = 0; node < world_size; ++node) {
        edges.push_back((node + world_size - 1) % world_size);
        edges.push_back((node + 1) % world_size);
        index.push_back(static_cast<int>(edges.size()));
    }
    MPI_Graph_create(MPI_COMM_WORLD, world_size, index.data(), edges.data(), 0, &comm);
    MPI_Comm_rank(comm, &rank);
    sources = {(rank + world_size - 1) % world_size, (rank + 1) % world_size};
    destinations = sources;
    counterparts = {1, 0};
    test_all();
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int dimensions = 1; dimensions <= 3; ++dimensions)
        for (bool periodic : {false, true}) test_grid(dimensions, periodic);
    test_graph();
    test_distributed_graph();
    end();
}
