// SPDX-License-Identifier: BSD-3-Clause
/// How much memory the ranks of the job share, as the system sees it.
#pragma once

#include "../check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

/// MPI_Init closes what it has been given.
inline const int arena_file = [] {
    const char *given = std::getenv("VOLLEY_ARENA_FD");
    return given ? dup(std::atoi(given)) : -1;
}();

/// Bytes of pages that exist.
inline long long footprint() {
    struct stat facts = {};
    CHECK(fstat(arena_file, &facts) == 0);
    return static_cast<long long>(facts.st_blocks) * 512;
}

/// Calls `body` so often that caches have filled, and then `rounds` times: that leaves no more memory behind than
/// `most`, some pages of tables that are used in turns.
template <class Body> void expect_flat(const char *what, int warm, int rounds, long long most, Body &&body) {
    for (int i = 0; i < warm; i++) body();
    MPI_Barrier(MPI_COMM_WORLD);
    long long before = footprint();
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < rounds; i++) body();
    double seconds = MPI_Wtime() - begin;
    MPI_Barrier(MPI_COMM_WORLD);
    long long after = footprint();
    if (world_rank == 0)
        std::printf("%s: %d times, %.2f us each, %lld KiB, then %lld\n", what, rounds, seconds / rounds * 1e6,
                    before / 1024, after / 1024);
    std::fflush(stdout);
    CHECK(after <= before + most);
    MPI_Barrier(MPI_COMM_WORLD);
}
