// SPDX-License-Identifier: BSD-3-Clause
/// What MPI test programs have in common: a check that ends the job and says where, and repeatable random numbers.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

inline int world_rank, world_size;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "rank %d, %s:%d: not so: %s\n", world_rank, __FILE__, __LINE__, #condition);          \
            MPI_Abort(MPI_COMM_WORLD, 3);                                                                              \
        }                                                                                                              \
    } while (0)

class Mpi {
  public:
    Mpi(int *argc, char ***argv) {
        MPI_Init(argc, argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    }
    ~Mpi() {
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == 0) std::puts("good");
        MPI_Finalize();
    }
};

/// Byte `i` of message `number` from `source`.
inline unsigned char expected_byte(int source, int number, std::size_t i) {
    return static_cast<unsigned char>(static_cast<std::size_t>(source * 31 + number * 7) + i * 13 + (i >> 8));
}

inline std::vector<unsigned char> message(int source, int number, std::size_t bytes) {
    std::vector<unsigned char> data(bytes);
    for (std::size_t i = 0; i < bytes; i++) data[i] = expected_byte(source, number, i);
    return data;
}
