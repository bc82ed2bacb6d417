/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank waits for a message that nobody sends. */
#include <mpi.h>

int main(int argc, char **argv) {
    int word;
    MPI_Init(&argc, &argv);
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
