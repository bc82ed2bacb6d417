// SPDX-License-Identifier: BSD-3-Clause
/// Ranks add up again and again until a host is gone; the others go on without it. Argument: how many are to be left.
#include "recovery.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    std::printf("rank %d\n", world_rank);
    std::fflush(stdout);
    MPI_Comm all, living;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    int code;
    do {
        long one = 1, sum = 0;
        code = MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, all);
        CHECK(code != MPI_SUCCESS || sum == world_size);
    } while (code == MPI_SUCCESS);
    CHECK(class_of(code) == MPIX_ERR_PROC_FAILED || class_of(code) == MPIX_ERR_REVOKED);
    CHECK(MPIX_Comm_revoke(all) == MPI_SUCCESS);
    CHECK(MPIX_Comm_shrink(all, &living) == MPI_SUCCESS);
    int size = 0;
    MPI_Comm_size(living, &size);
    CHECK(size == std::atoi(argv[1]) && failed_members(MPI_COMM_WORLD) == world_size - size);
    return finish(living);
}
