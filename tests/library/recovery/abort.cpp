// SPDX-License-Identifier: BSD-3-Clause
/// A part of the ranks is aborted (MPI 5.0, section 9.7): the others go on, and learn of it as MPI_ERR_PROC_ABORTED.
/// Argument: "call", by MPI_Abort; "handler", by MPI_ERRORS_ABORT.
#include "recovery.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    const bool by_handler = std::string(argv[1]) == "handler";
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &half);
    int value = 0;
    // Rank 1 waits until all others have their communicator.
    if (world_rank != 1) MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    for (int others = 1; world_rank == 1 && others < world_size; others++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (world_rank == 1) {
        if (by_handler) {
            MPI_Comm_set_errhandler(half, MPI_ERRORS_ABORT);
            MPI_Send(&value, 1, MPI_INT, 77, 0, half); // there is no such rank
        } else {
            MPI_Abort(half, 7);
        }
        std::puts("not reached");
    }
    if (world_rank == 3) {
        for (;;) pause(); // it need not be in MPI to be aborted
    }
    for (const int aborted : {1, 3})
        CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, aborted, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
              MPI_ERR_PROC_ABORTED);
    CHECK(class_of(MPI_Barrier(MPI_COMM_WORLD)) == MPI_ERR_PROC_ABORTED);
    CHECK(failed_members(MPI_COMM_WORLD) == 2);
    return finish(half);
}
