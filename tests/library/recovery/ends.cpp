// SPDX-License-Identifier: BSD-3-Clause
/// Rank 1 ends before the others: in the argument's way.
#include "recovery.h"

#include <sys/stat.h>

int main(int argc, char **argv) {
    start(&argc, &argv);
    const std::string how = argv[1];
    int value = 0;
    if (world_rank == 1 && how == "exit") std::exit(4);
    if (world_rank == 1 && how == "while others finalise") {
        while (access("finalising", F_OK) != 0) usleep(100); // until rank 0 makes it
        die_in(1000);
        for (;;) pause();
    }
    if (world_rank == 1) die();
    if (how == "all") die();
    if (how == "exit")
        CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
    if (how == "fatal") {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (how == "while others finalise" && world_rank == 0) mkdir("finalising", 0700);
    MPI_Finalize();
    if (world_rank == 0) std::puts("good");
}
