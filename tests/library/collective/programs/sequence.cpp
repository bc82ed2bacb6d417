// SPDX-License-Identifier: BSD-3-Clause
/// Long sequences of small blocking collectives with changing roots, ranks that are late, and communicators that come
/// and go: nothing of one operation may be seen in another.
#include "collective.h"

#include <array>
#include <sched.h>

static int value(int rank, int number) {
    return rank * 7919 + number;
}

static void expect_sum(int seen, int from, int to, int number, const char *what) {
    int sum = 0;
    for (int k = from; k < to; ++k) sum += value(k, number);
    expect(seen, sum, what, number);
}

static void one(MPI_Comm comm, int rank, int size, int number, int kind, int root, int late) {
    if (late == rank) sched_yield();
    int mine = value(rank, number), got = untouched;
    std::vector<int> all(static_cast<std::size_t>(size), untouched), row(all.size());
    auto each = [&](const char *what) {
        for (int k = 0; k < size; ++k) expect(all[static_cast<std::size_t>(k)], value(k, number), what, number);
    };
    for (int k = 0; k < size; ++k) row[static_cast<std::size_t>(k)] = value(rank, number) + k * 31;
    switch (kind) {
    case 0:
        got = rank == root ? mine : untouched;
        MPI_Bcast(&got, 1, MPI_INT, root, comm);
        expect(got, value(root, number), "MPI_Bcast", number);
        break;
    case 1:
        MPI_Reduce(&mine, &got, 1, MPI_INT, MPI_SUM, root, comm);
        if (rank == root) expect_sum(got, 0, size, number, "MPI_Reduce");
        break;
    case 2:
        MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, comm);
        expect_sum(got, 0, size, number, "MPI_Allreduce");
        break;
    case 3:
        MPI_Gather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, root, comm);
        if (rank == root) each("MPI_Gather");
        break;
    case 4:
        MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
        each("MPI_Allgather");
        break;
    case 5:
        MPI_Alltoall(row.data(), 1, MPI_INT, all.data(), 1, MPI_INT, comm);
        for (int k = 0; k < size; ++k)
            expect(all[static_cast<std::size_t>(k)], value(k, number) + rank * 31, "MPI_Alltoall", number);
        break;
    case 6:
        MPI_Scan(&mine, &got, 1, MPI_INT, MPI_SUM, comm);
        expect_sum(got, 0, rank + 1, number, "MPI_Scan");
        break;
    case 7:
        MPI_Scatter(row.data(), 1, MPI_INT, &got, 1, MPI_INT, root, comm);
        expect(got, value(root, number) + rank * 31, "MPI_Scatter", number);
        break;
    case 8: {
        // Medium sizes.
        std::vector<int> data(300, mine), sum(300);
        MPI_Allreduce(data.data(), sum.data(), 300, MPI_INT, MPI_SUM, comm);
        for (int seen : sum) expect_sum(seen, 0, size, number, "MPI_Allreduce of 300");
        break;
    }
    default:
        MPI_Barrier(comm);
        break;
    }
}

static void one(MPI_Comm comm, int rank, int size, int number) {
    int kind = draw(0, 9), root = draw(0, size - 1), late = draw(0, 3 * size);
    one(comm, rank, size, number, kind, root, late);
}

/// Operations in which some ranks need not wait for others run far ahead of a late rank, which must find all that
/// was meant for it.
static void run_ahead(int turn) {
    static constexpr std::array kinds{0, 1, 3, 7}; // bcast, reduce, gather, scatter
    int kind = kinds[static_cast<std::size_t>(draw(0, 3))], root = draw(0, world_size - 1);
    int late = draw(0, world_size - 1), length = draw(1, 100);
    if (late == world_rank)
        for (int i = 0; i < 50; ++i) sched_yield();
    for (int number = 0; number < length; ++number) {
        if (turn % 2 != 0) kind = kinds[static_cast<std::size_t>(draw(0, 3))];
        one(MPI_COMM_WORLD, world_rank, world_size, number, kind, root, -1);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int number = 0; number < 6000; ++number) one(MPI_COMM_WORLD, world_rank, world_size, number);
    for (int turn = 0; turn < 100; ++turn) run_ahead(turn);
    // Their memory is used again.
    for (int turn = 0; turn < 60; ++turn) {
        std::array<MPI_Comm, 3> comms;
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
        MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &comms[1]);
        MPI_Comm_dup(comms[1], &comms[2]);
        for (int number = 0; number < 40; ++number) {
            MPI_Comm comm = comms[static_cast<std::size_t>(draw(0, 2))];
            int rank, size;
            MPI_Comm_rank(comm, &rank);
            MPI_Comm_size(comm, &size);
            // What is drawn inside depends on the size, which differs: restore what all have in common.
            std::mt19937 before = common;
            one(comm, rank, size, number);
            common = before;
            common.discard(10);
        }
        for (MPI_Comm &comm : comms) MPI_Comm_free(&comm);
    }
    end();
}
