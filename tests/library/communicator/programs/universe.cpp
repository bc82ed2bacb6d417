// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 prints MPI_UNIVERSE_SIZE.
#include "../../check.h"

#include <cstdio>

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    int *universe = nullptr, flag = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, static_cast<void *>(&universe), &flag);
    CHECK(flag && *universe >= world_size);
    if (world_rank == 0) std::printf("%d\n", *universe);
}
