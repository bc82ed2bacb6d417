// SPDX-License-Identifier: BSD-3-Clause
/// What programs have in common whose ranks fail.
#pragma once

#include "../check.h"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>

/// The class of what a function returned.
inline int class_of(int code) {
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    return error_class;
}

[[noreturn]] inline void die() {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/// This rank is killed so many microseconds from now, wherever it is then.
inline void die_in(long microseconds) {
    std::signal(SIGALRM, [](int) { kill(getpid(), SIGKILL); });
    const itimerval timer{{0, 0}, {microseconds / 1000000, microseconds % 1000000 + 1}};
    setitimer(ITIMER_REAL, &timer, nullptr);
}

inline int start(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return world_rank;
}

/// The living say so together, and end.
inline int finish(MPI_Comm living) {
    int rank;
    MPI_Comm_rank(living, &rank);
    CHECK(MPI_Barrier(living) == MPI_SUCCESS);
    if (rank == 0) std::puts("good");
    std::fflush(stdout);
    MPI_Finalize();
    return 0;
}

inline int failed_members(MPI_Comm communicator) {
    MPI_Group failed;
    int count = 0;
    MPIX_Comm_get_failed(communicator, &failed);
    MPI_Group_size(failed, &count);
    if (failed != MPI_GROUP_EMPTY) MPI_Group_free(&failed);
    return count;
}
