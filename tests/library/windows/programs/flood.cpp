// SPDX-License-Identifier: BSD-3-Clause
// Many small requests, which come faster than the target serves them while it waits in MPI_Win_fence. Where they are
// messages each of these is two, as the target must be told the plan of the datatype.
#include "../../check.h"

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    struct Pair {
        long value;
        int index;
    } *memory = nullptr;
    constexpr int accesses = 200'000;
    MPI_Win window;
    MPI_Win_allocate(sizeof(Pair), sizeof(Pair), MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void *>(&memory), &window);
    memory->value = memory->index = -1;
    MPI_Win_fence(0, window);
    for (int i = 0; i < accesses && world_rank == world_size - 1; i++) {
        const Pair pair{i, i};
        MPI_Accumulate(&pair, 1, MPI_LONG_INT, 0, 0, 1, MPI_LONG_INT, MPI_MAXLOC, window);
    }
    MPI_Win_fence(0, window);
    if (world_rank == 0) CHECK(memory->value == accesses - 1 && memory->index == accesses - 1);
    MPI_Win_free(&window);
}
