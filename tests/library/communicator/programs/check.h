// SPDX-License-Identifier: BSD-3-Clause
/// What the programs of these tests have in common: a check that names itself and ends the job.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "rank %d, %s:%d: %s does not hold\n", world_rank(), __FILE__, __LINE__, #condition);  \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (false)

inline int world_rank() {
    int initialised = 0, rank = -1;
    MPI_Initialized(&initialised);
    if (initialised) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

inline int rank_in(MPI_Comm communicator) {
    int rank = 0;
    MPI_Comm_rank(communicator, &rank);
    return rank;
}

inline int size_of(MPI_Comm communicator) {
    int size = 0;
    MPI_Comm_size(communicator, &size);
    return size;
}

inline int class_of(int code) {
    int error_class = 0;
    MPI_Error_class(code, &error_class);
    return error_class;
}

inline std::vector<int> counted(int size) {
    std::vector<int> numbers(static_cast<std::size_t>(size));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

/// Every process sends its rank to the next and gets the one of that before: messages of others would be seen.
inline void check_ring(MPI_Comm communicator) {
    int size = size_of(communicator), rank = rank_in(communicator), got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &got, 1, MPI_INT, (rank + size - 1) % size, 7, communicator,
                 MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, communicator);
    CHECK(sum == size * (size - 1) / 2);
}
