// SPDX-License-Identifier: BSD-3-Clause
// What calls cost that do next to nothing, in ns: the least of nine times. Any MPI compiles it; built with the header
// and library of MPICH or Open MPI and run by Volley's mpiexec, it shows what a face adds (docs/installed-programs.md).
#include <mpi.h>

#include <stdio.h>
#include <time.h>

enum { calls = 200000, times = 9 };

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

#define MEASURE(name, call)                                                                                            \
    do {                                                                                                               \
        double least = 1e300;                                                                                          \
        for (int time = 0; time < times; ++time) {                                                                     \
            const double begin = now_ns();                                                                             \
            for (int i = 0; i < calls; ++i) call;                                                                      \
            const double each = (now_ns() - begin) / calls;                                                            \
            if (each < least) least = each;                                                                            \
        }                                                                                                              \
        printf("%-28s %6.1f\n", name, least);                                                                          \
    } while (0)

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm duplicate;
    MPI_Datatype pair;
    MPI_Status status;
    int result = 0, data[2] = {0, 0};
    MPI_Comm_dup(MPI_COMM_SELF, &duplicate);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MEASURE("rank in MPI_COMM_WORLD", MPI_Comm_rank(MPI_COMM_WORLD, &result));
    MEASURE("rank in a duplicate", MPI_Comm_rank(duplicate, &result));
    MEASURE("size of MPI_DOUBLE", MPI_Type_size(MPI_DOUBLE, &result));
    MEASURE("size of a made datatype", MPI_Type_size(pair, &result));
    MEASURE("send to MPI_PROC_NULL", MPI_Send(data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    MEASURE("receive from MPI_PROC_NULL", MPI_Recv(data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    MPI_Type_free(&pair);
    MPI_Comm_free(&duplicate);
    MPI_Finalize();
    return 0;
}
