// SPDX-License-Identifier: BSD-3-Clause
/// Traffic of every kind without end, for tests that end it: small and large messages, collectives, new communicators.
#include "../check.h"

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        std::puts("running");
        std::fflush(stdout);
    }
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    std::vector<char> out(300000, 'o'), in(out.size());
    std::vector<int> numbers(1000, 1), sums(numbers.size());
    for (int round = 0;; round++) {
        int bytes = round % 7 == 0 ? static_cast<int>(out.size()) : round % 5000;
        MPI_Sendrecv(out.data(), bytes, MPI_CHAR, right, 1, in.data(), bytes, MPI_CHAR, left, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (world_rank % 2 == 0 && right != world_rank) MPI_Send(out.data(), bytes, MPI_CHAR, right, 2, MPI_COMM_WORLD);
        if (left % 2 == 0 && left != world_rank)
            MPI_Recv(in.data(), bytes, MPI_CHAR, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(numbers.data(), sums.data(), static_cast<int>(numbers.size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (round % 50 == 0) {
            MPI_Comm half;
            MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
            MPI_Barrier(half);
            MPI_Comm_free(&half);
        }
    }
}
