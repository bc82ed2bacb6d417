/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank says so; with an argument, rank 0 first sends rank 1 that many MiB. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MIB = 1 << 20 };

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int messages = argc > 1 ? atoi(argv[1]) : 0;
    char *buffer = calloc(1, MIB);
    for (int i = 0; i < messages && ranks > 1; i++) {
        if (rank == 0) MPI_Send(buffer, MIB, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(buffer, MIB, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    printf("rank %d of %d\n", rank, ranks);
    free(buffer);
    MPI_Finalize();
    return 0;
}
