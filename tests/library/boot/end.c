// SPDX-License-Identifier: BSD-3-Clause
// Ends its job: by MPI_Abort with the code it is given, or by MPI_Finalize.
#include <mpi.h>

#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc > 1) MPI_Abort(MPI_COMM_WORLD, atoi(argv[1]));
    MPI_Finalize();
    return 0;
}
