// SPDX-License-Identifier: BSD-3-Clause
// Ranks poll memory of their own, by accesses and flushes or locks alone, until the rank before them has written there.
// So a number goes round: each rank has to serve what others do to its memory in calls that need nothing of others, and
// with more ranks than cores those that have nothing to do have to let the others run.
#include "../../check.h"

namespace {

constexpr int rounds = 200;

/// What the own memory holds now.
int look(MPI_Win window, bool flushes) {
    int value = 0;
    if (!flushes) MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, window);
    MPI_Get_accumulate(nullptr, 0, MPI_INT, &value, 1, MPI_INT, world_rank, 0, 1, MPI_INT, MPI_NO_OP, window);
    if (flushes)
        MPI_Win_flush(world_rank, window);
    else
        MPI_Win_unlock(world_rank, window);
    return value;
}

void tell(int rank, int value, MPI_Win window, bool flushes) {
    if (!flushes) MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    MPI_Accumulate(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_REPLACE, window);
    if (flushes)
        MPI_Win_flush(rank, window);
    else
        MPI_Win_unlock(rank, window);
}

void go_round(bool flushes) {
    int *memory = nullptr;
    MPI_Win window;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, window);
    *memory = world_rank == 0 ? 0 : -1;
    MPI_Win_unlock(world_rank, window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (flushes) MPI_Win_lock_all(0, window);
    for (int round = 0; round < rounds; round++) {
        while (look(window, flushes) != round) {}
        const bool is_last = world_rank == world_size - 1;
        tell((world_rank + 1) % world_size, round + (is_last ? 1 : 0), window, flushes);
    }
    if (flushes) MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

} // namespace

int main(int argc, char **argv) {
    const Mpi mpi(&argc, &argv);
    go_round(true);
    go_round(false);
    return 0;
}
