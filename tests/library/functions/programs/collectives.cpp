// SPDX-License-Identifier: BSD-3-Clause
// Collective operations by functions with counts of type MPI_Count, blocking, nonblocking and persistent: each leaves
// what the function with counts of type int leaves, whose results other programs check.
#include "../../check.h"

#include <algorithm>
#include <functional>

namespace {

constexpr int each = 3, untouched = -1;

MPI_Comm comm = MPI_COMM_WORLD;
int partners = 0; ///< ranks that one receives from
int root = 0;
std::vector<int> sent;
/// Block i has i % 3 + 1 elements and begins at i * each.
std::vector<int> counts, places;
std::vector<MPI_Count> large_counts;
std::vector<MPI_Aint> large_places, byte_places;
std::vector<MPI_Datatype> types;

/// Calls a function on a receive buffer that is all untouched, or for a broadcast holds the root's data.
using Call = std::function<void(int *received, MPI_Request *request)>;

std::vector<int> initial(bool is_broadcast) {
    return is_broadcast && world_rank == root ? sent : std::vector<int>(sent.size(), untouched);
}

void expect_alike(const Call &plain, const std::vector<Call> &others, const Call &persistent,
                  bool is_broadcast = false) {
    const auto result_of = [&](const Call &call) {
        std::vector<int> received = initial(is_broadcast);
        MPI_Request request = MPI_REQUEST_NULL;
        call(received.data(), &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return received;
    };
    const std::vector<int> expected = result_of(plain);
    for (const Call &call : others) CHECK(result_of(call) == expected);
    std::vector<int> received = initial(is_broadcast);
    MPI_Request request = MPI_REQUEST_NULL;
    persistent(received.data(), &request);
    for (int i = 0; i < 2; i++) { // it may be started again
        const std::vector<int> fresh = initial(is_broadcast);
        std::copy(fresh.begin(), fresh.end(), received.begin());
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(received == expected);
    }
    MPI_Request_free(&request);
}

/// Buffers for so many blocks to send and to receive.
void prepare(int blocks) {
    partners = blocks;
    sent.clear();
    for (int i = 0; i < each * blocks; i++) sent.push_back(1000 * world_rank + i);
    counts.clear(), places.clear(), large_counts.clear(), large_places.clear(), byte_places.clear();
    for (int i = 0; i < blocks; i++) {
        counts.push_back(i % each + 1);
        places.push_back(i * each);
    }
    large_counts.assign(counts.begin(), counts.end());
    large_places.assign(places.begin(), places.end());
    for (int place : places) byte_places.push_back(place * static_cast<MPI_Aint>(sizeof(int)));
    types.assign(static_cast<std::size_t>(blocks), MPI_INT);
}

#define LARGE large_counts.data(), large_places.data()
#define SMALL counts.data(), places.data()
#define BLOCK(pointer) pointer, each, MPI_INT
#define NO_INFO MPI_INFO_NULL

void broadcast() {
    const auto all = [](auto function, int *r, auto... rest) {
        function(r, each * partners, MPI_INT, root, comm, rest...);
    };
    expect_alike(
        [&](int *r, MPI_Request *) { all(MPI_Bcast, r); },
        {[&](int *r, MPI_Request *) { all(MPI_Bcast_c, r); }, [&](int *r, MPI_Request *q) { all(MPI_Ibcast_c, r, q); }},
        [&](int *r, MPI_Request *q) { all(MPI_Bcast_init_c, r, NO_INFO, q); }, true);
}

void gather() {
    const int *s = sent.data();
    expect_alike([s](int *r, MPI_Request *) { MPI_Gather(BLOCK(s), BLOCK(r), root, comm); },
                 {[s](int *r, MPI_Request *) { MPI_Gather_c(BLOCK(s), BLOCK(r), root, comm); },
                  [s](int *r, MPI_Request *q) { MPI_Igather_c(BLOCK(s), BLOCK(r), root, comm, q); }},
                 [s](int *r, MPI_Request *q) { MPI_Gather_init_c(BLOCK(s), BLOCK(r), root, comm, NO_INFO, q); });
    const int own = world_rank % each + 1;
    expect_alike([=](int *r, MPI_Request *) { MPI_Gatherv(s, own, MPI_INT, r, SMALL, MPI_INT, root, comm); },
                 {[=](int *r, MPI_Request *) { MPI_Gatherv_c(s, own, MPI_INT, r, LARGE, MPI_INT, root, comm); },
                  [=](int *r, MPI_Request *q) { MPI_Igatherv_c(s, own, MPI_INT, r, LARGE, MPI_INT, root, comm, q); }},
                 [=](int *r, MPI_Request *q) {
                     MPI_Gatherv_init_c(s, own, MPI_INT, r, LARGE, MPI_INT, root, comm, NO_INFO, q);
                 });
}

void scatter() {
    const int *s = sent.data();
    expect_alike([s](int *r, MPI_Request *) { MPI_Scatter(BLOCK(s), BLOCK(r), root, comm); },
                 {[s](int *r, MPI_Request *) { MPI_Scatter_c(BLOCK(s), BLOCK(r), root, comm); },
                  [s](int *r, MPI_Request *q) { MPI_Iscatter_c(BLOCK(s), BLOCK(r), root, comm, q); }},
                 [s](int *r, MPI_Request *q) { MPI_Scatter_init_c(BLOCK(s), BLOCK(r), root, comm, NO_INFO, q); });
    const int own = world_rank % each + 1;
    expect_alike([=](int *r, MPI_Request *) { MPI_Scatterv(s, SMALL, MPI_INT, r, own, MPI_INT, root, comm); },
                 {[=](int *r, MPI_Request *) { MPI_Scatterv_c(s, LARGE, MPI_INT, r, own, MPI_INT, root, comm); },
                  [=](int *r, MPI_Request *q) { MPI_Iscatterv_c(s, LARGE, MPI_INT, r, own, MPI_INT, root, comm, q); }},
                 [=](int *r, MPI_Request *q) {
                     MPI_Scatterv_init_c(s, LARGE, MPI_INT, r, own, MPI_INT, root, comm, NO_INFO, q);
                 });
}

void allgather() {
    const int *s = sent.data();
    expect_alike([s](int *r, MPI_Request *) { MPI_Allgather(BLOCK(s), BLOCK(r), comm); },
                 {[s](int *r, MPI_Request *) { MPI_Allgather_c(BLOCK(s), BLOCK(r), comm); },
                  [s](int *r, MPI_Request *q) { MPI_Iallgather_c(BLOCK(s), BLOCK(r), comm, q); }},
                 [s](int *r, MPI_Request *q) { MPI_Allgather_init_c(BLOCK(s), BLOCK(r), comm, NO_INFO, q); });
    const int own = world_rank % each + 1;
    expect_alike(
        [=](int *r, MPI_Request *) { MPI_Allgatherv(s, own, MPI_INT, r, SMALL, MPI_INT, comm); },
        {[=](int *r, MPI_Request *) { MPI_Allgatherv_c(s, own, MPI_INT, r, LARGE, MPI_INT, comm); },
         [=](int *r, MPI_Request *q) { MPI_Iallgatherv_c(s, own, MPI_INT, r, LARGE, MPI_INT, comm, q); }},
        [=](int *r, MPI_Request *q) { MPI_Allgatherv_init_c(s, own, MPI_INT, r, LARGE, MPI_INT, comm, NO_INFO, q); });
}

void alltoall() {
    const int *s = sent.data();
    expect_alike([s](int *r, MPI_Request *) { MPI_Alltoall(BLOCK(s), BLOCK(r), comm); },
                 {[s](int *r, MPI_Request *) { MPI_Alltoall_c(BLOCK(s), BLOCK(r), comm); },
                  [s](int *r, MPI_Request *q) { MPI_Ialltoall_c(BLOCK(s), BLOCK(r), comm, q); }},
                 [s](int *r, MPI_Request *q) { MPI_Alltoall_init_c(BLOCK(s), BLOCK(r), comm, NO_INFO, q); });
    // Equal counts: block i goes to rank i, and each rank sends as many elements as it receives.
    std::fill(counts.begin(), counts.end(), 2);
    std::fill(large_counts.begin(), large_counts.end(), 2);
    expect_alike(
        [s](int *r, MPI_Request *) { MPI_Alltoallv(s, SMALL, MPI_INT, r, SMALL, MPI_INT, comm); },
        {[s](int *r, MPI_Request *) { MPI_Alltoallv_c(s, LARGE, MPI_INT, r, LARGE, MPI_INT, comm); },
         [s](int *r, MPI_Request *q) { MPI_Ialltoallv_c(s, LARGE, MPI_INT, r, LARGE, MPI_INT, comm, q); }},
        [s](int *r, MPI_Request *q) { MPI_Alltoallv_init_c(s, LARGE, MPI_INT, r, LARGE, MPI_INT, comm, NO_INFO, q); });
    std::vector<int> bytes(byte_places.begin(), byte_places.end());
    const MPI_Datatype *t = types.data();
    const MPI_Count *c = large_counts.data();
    const MPI_Aint *at = byte_places.data();
    expect_alike(
        [&](int *r, MPI_Request *) {
            MPI_Alltoallw(s, counts.data(), bytes.data(), t, r, counts.data(), bytes.data(), t, comm);
        },
        {[=](int *r, MPI_Request *) { MPI_Alltoallw_c(s, c, at, t, r, c, at, t, comm); },
         [=](int *r, MPI_Request *q) { MPI_Ialltoallw_c(s, c, at, t, r, c, at, t, comm, q); }},
        [=](int *r, MPI_Request *q) { MPI_Alltoallw_init_c(s, c, at, t, r, c, at, t, comm, NO_INFO, q); });
}

void reduce() {
    const int *s = sent.data();
    const auto to_root = [s](auto function, int *r, auto... rest) {
        function(s, r, each, MPI_INT, MPI_SUM, root, comm, rest...);
    };
    expect_alike([=](int *r, MPI_Request *) { to_root(MPI_Reduce, r); },
                 {[=](int *r, MPI_Request *) { to_root(MPI_Reduce_c, r); },
                  [=](int *r, MPI_Request *q) { to_root(MPI_Ireduce_c, r, q); }},
                 [=](int *r, MPI_Request *q) { to_root(MPI_Reduce_init_c, r, NO_INFO, q); });
    const auto to_all = [s](auto function, int *r, auto... rest) {
        function(s, r, each, MPI_INT, MPI_SUM, comm, rest...);
    };
    expect_alike([=](int *r, MPI_Request *) { to_all(MPI_Allreduce, r); },
                 {[=](int *r, MPI_Request *) { to_all(MPI_Allreduce_c, r); },
                  [=](int *r, MPI_Request *q) { to_all(MPI_Iallreduce_c, r, q); }},
                 [=](int *r, MPI_Request *q) { to_all(MPI_Allreduce_init_c, r, NO_INFO, q); });
    expect_alike([=](int *r, MPI_Request *) { to_all(MPI_Scan, r); },
                 {[=](int *r, MPI_Request *) { to_all(MPI_Scan_c, r); },
                  [=](int *r, MPI_Request *q) { to_all(MPI_Iscan_c, r, q); }},
                 [=](int *r, MPI_Request *q) { to_all(MPI_Scan_init_c, r, NO_INFO, q); });
    expect_alike([=](int *r, MPI_Request *) { to_all(MPI_Exscan, r); },
                 {[=](int *r, MPI_Request *) { to_all(MPI_Exscan_c, r); },
                  [=](int *r, MPI_Request *q) { to_all(MPI_Iexscan_c, r, q); }},
                 [=](int *r, MPI_Request *q) { to_all(MPI_Exscan_init_c, r, NO_INFO, q); });
    expect_alike([=](int *r, MPI_Request *) { to_all(MPI_Reduce_scatter_block, r); },
                 {[=](int *r, MPI_Request *) { to_all(MPI_Reduce_scatter_block_c, r); },
                  [=](int *r, MPI_Request *q) { to_all(MPI_Ireduce_scatter_block_c, r, q); }},
                 [=](int *r, MPI_Request *q) { to_all(MPI_Reduce_scatter_block_init_c, r, NO_INFO, q); });
    const MPI_Count *c = large_counts.data();
    expect_alike(
        [=](int *r, MPI_Request *) { MPI_Reduce_scatter(s, r, counts.data(), MPI_INT, MPI_SUM, comm); },
        {[=](int *r, MPI_Request *) { MPI_Reduce_scatter_c(s, r, c, MPI_INT, MPI_SUM, comm); },
         [=](int *r, MPI_Request *q) { MPI_Ireduce_scatter_c(s, r, c, MPI_INT, MPI_SUM, comm, q); }},
        [=](int *r, MPI_Request *q) { MPI_Reduce_scatter_init_c(s, r, c, MPI_INT, MPI_SUM, comm, NO_INFO, q); });
}

/// On a ring, whose ranks have two neighbours each.
void neighbours() {
    const int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, &periodic, 0, &comm);
    prepare(2);
    std::fill(counts.begin(), counts.end(), 2);
    std::fill(large_counts.begin(), large_counts.end(), 2);
    const int *s = sent.data();
    expect_alike([s](int *r, MPI_Request *) { MPI_Neighbor_allgather(BLOCK(s), BLOCK(r), comm); },
                 {[s](int *r, MPI_Request *) { MPI_Neighbor_allgather_c(BLOCK(s), BLOCK(r), comm); },
                  [s](int *r, MPI_Request *q) { MPI_Ineighbor_allgather_c(BLOCK(s), BLOCK(r), comm, q); }},
                 [s](int *r, MPI_Request *q) { MPI_Neighbor_allgather_init_c(BLOCK(s), BLOCK(r), comm, NO_INFO, q); });
    expect_alike(
        [s](int *r, MPI_Request *) { MPI_Neighbor_allgatherv(s, 2, MPI_INT, r, SMALL, MPI_INT, comm); },
        {[s](int *r, MPI_Request *) { MPI_Neighbor_allgatherv_c(s, 2, MPI_INT, r, LARGE, MPI_INT, comm); },
         [s](int *r, MPI_Request *q) { MPI_Ineighbor_allgatherv_c(s, 2, MPI_INT, r, LARGE, MPI_INT, comm, q); }},
        [s](int *r, MPI_Request *q) {
            MPI_Neighbor_allgatherv_init_c(s, 2, MPI_INT, r, LARGE, MPI_INT, comm, NO_INFO, q);
        });
    expect_alike([s](int *r, MPI_Request *) { MPI_Neighbor_alltoall(BLOCK(s), BLOCK(r), comm); },
                 {[s](int *r, MPI_Request *) { MPI_Neighbor_alltoall_c(BLOCK(s), BLOCK(r), comm); },
                  [s](int *r, MPI_Request *q) { MPI_Ineighbor_alltoall_c(BLOCK(s), BLOCK(r), comm, q); }},
                 [s](int *r, MPI_Request *q) { MPI_Neighbor_alltoall_init_c(BLOCK(s), BLOCK(r), comm, NO_INFO, q); });
    expect_alike(
        [s](int *r, MPI_Request *) { MPI_Neighbor_alltoallv(s, SMALL, MPI_INT, r, SMALL, MPI_INT, comm); },
        {[s](int *r, MPI_Request *) { MPI_Neighbor_alltoallv_c(s, LARGE, MPI_INT, r, LARGE, MPI_INT, comm); },
         [s](int *r, MPI_Request *q) { MPI_Ineighbor_alltoallv_c(s, LARGE, MPI_INT, r, LARGE, MPI_INT, comm, q); }},
        [s](int *r, MPI_Request *q) {
            MPI_Neighbor_alltoallv_init_c(s, LARGE, MPI_INT, r, LARGE, MPI_INT, comm, NO_INFO, q);
        });
    const int *small = counts.data();
    const MPI_Datatype *t = types.data();
    const MPI_Count *c = large_counts.data();
    const MPI_Aint *at = byte_places.data();
    expect_alike(
        [=](int *r, MPI_Request *) { MPI_Neighbor_alltoallw(s, small, at, t, r, small, at, t, comm); },
        {[=](int *r, MPI_Request *) { MPI_Neighbor_alltoallw_c(s, c, at, t, r, c, at, t, comm); },
         [=](int *r, MPI_Request *q) { MPI_Ineighbor_alltoallw_c(s, c, at, t, r, c, at, t, comm, q); }},
        [=](int *r, MPI_Request *q) { MPI_Neighbor_alltoallw_init_c(s, c, at, t, r, c, at, t, comm, NO_INFO, q); });
    MPI_Comm_free(&comm);
    comm = MPI_COMM_WORLD;
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    for (const auto test : {broadcast, gather, scatter, allgather, reduce, alltoall}) {
        root = world_size - 1;
        prepare(world_size);
        test();
    }
    neighbours();
}
