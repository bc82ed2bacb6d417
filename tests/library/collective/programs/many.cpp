// SPDX-License-Identifier: BSD-3-Clause
/// Small collectives on more communicators than there is shared memory for all they would like to have: those made late
/// have less, and give the same results.
#include "collective.h"

static constexpr int communicators = 400;

static int value(int rank, int number, int i) {
    return rank * 7919 + number * 31 + i;
}

static void use(MPI_Comm comm, int number, int count) {
    int root = number % world_size;
    auto length = static_cast<std::size_t>(count);
    std::vector<int> mine(length), sent(length), sum(length), all(length * static_cast<std::size_t>(world_size));
    for (int i = 0; i < count; ++i) mine[static_cast<std::size_t>(i)] = value(world_rank, number, i);
    if (world_rank == root) sent = mine;
    MPI_Bcast(sent.data(), count, MPI_INT, root, comm);
    MPI_Reduce(mine.data(), sum.data(), count, MPI_INT, MPI_SUM, root, comm);
    MPI_Allgather(mine.data(), count, MPI_INT, all.data(), count, MPI_INT, comm);
    for (int i = 0; i < count; ++i) {
        int expected = 0;
        for (int rank = 0; rank < world_size; ++rank) {
            expected += value(rank, number, i);
            if (all[static_cast<std::size_t>(rank * count + i)] != value(rank, number, i))
                stop("MPI_Allgather is wrong");
        }
        if (sent[static_cast<std::size_t>(i)] != value(root, number, i)) stop("MPI_Bcast is wrong");
        if (world_rank == root && sum[static_cast<std::size_t>(i)] != expected) stop("MPI_Reduce is wrong");
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    std::vector<MPI_Comm> made(communicators);
    for (MPI_Comm &comm : made) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int count : {2, 30, 120, 250}) // bytes: in a slot, and in what only some have
        for (int turn = 0; turn < 20; ++turn)
            for (int i = 0; i < communicators; i += 7)
                use(made[static_cast<std::size_t>(i)], turn * communicators + i, count);
    for (MPI_Comm &comm : made) MPI_Comm_free(&comm);
    if (world_rank == 0) std::printf("good\n");
    MPI_Finalize();
}
