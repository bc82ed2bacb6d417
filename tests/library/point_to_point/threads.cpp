// SPDX-License-Identifier: BSD-3-Clause
/// MPI_THREAD_MULTIPLE: several threads of each rank talk at once, blocked and not, without mixing their messages.
#include "../check.h"

#include <thread>

namespace {

constexpr int threads = 4, rounds = 200;

void talk(int thread) {
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int round = 0; round < rounds; round++) {
        std::size_t bytes = round % 10 == 0 ? 50000 : 16;
        std::vector<unsigned char> out = message(world_rank, thread * rounds + round, bytes), in(bytes);
        int count = static_cast<int>(bytes);
        MPI_Request request;
        MPI_Isend(out.data(), count, MPI_BYTE, right, thread, MPI_COMM_WORLD, &request);
        MPI_Recv(in.data(), count, MPI_BYTE, left, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(in == message(left, thread * rounds + round, bytes));
    }
}

} // namespace

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    {
        std::vector<std::jthread> running;
        for (int thread = 0; thread < threads; thread++) running.emplace_back(talk, thread);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) std::puts("good");
    MPI_Finalize();
}
