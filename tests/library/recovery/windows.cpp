// SPDX-License-Identifier: BSD-3-Clause
/// Rank 1 fails while the others wait for its part in the synchronisation of a window. Argument: which.
#include "recovery.h"

namespace {

constexpr int victim = 1;

bool has_failed(int code) {
    return class_of(code) == MPIX_ERR_PROC_FAILED;
}

MPI_Group group_of(int rank) {
    MPI_Group world, one;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &rank, &one);
    MPI_Group_free(&world);
    return one;
}

} // namespace

int main(int argc, char **argv) {
    start(&argc, &argv);
    const std::string what = argv[1];
    MPI_Win window;
    int *memory = nullptr;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void *>(&memory), &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Group other = group_of(world_rank == victim ? 0 : victim);
    if (what == "lock") {
        // The victim holds rank 0's lock for good.
        if (world_rank == victim) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == victim) die();
        CHECK(has_failed(MPI_Win_lock(world_rank == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, window)));
    } else if (what == "wait") {
        if (world_rank == 0) MPI_Win_post(other, 0, window);
        if (world_rank == victim) MPI_Win_start(other, 0, window);
        if (world_rank == victim) die();
        if (world_rank == 0) CHECK(has_failed(MPI_Win_wait(window)));
    } else if (what == "start") {
        if (world_rank == victim) die();
        if (world_rank == 0) CHECK(has_failed(MPI_Win_start(other, 0, window)));
    }
    // The living still reach each other.
    MPI_Comm living;
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &living) == MPI_SUCCESS);
    MPI_Group_free(&other);
    return finish(living);
}
