// SPDX-License-Identifier: BSD-3-Clause
/// Threads of one rank in collectives of different communicators at the same time.
#include "collective.h"

#include <array>
#include <thread>

static void work(MPI_Comm comm, int which) {
    for (int number = 0; number < 300; ++number) {
        std::vector<int> in(static_cast<std::size_t>(number % 5 == 0 ? 9000 : 3), world_rank + number), out(in.size());
        int count = static_cast<int>(in.size());
        MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
        int wanted = world_size * (world_size - 1) / 2 + world_size * number;
        for (int seen : out) expect(seen, wanted, "MPI_Allreduce of thread " + std::to_string(which), number);
        MPI_Request request;
        MPI_Iscan(in.data(), out.data(), count, MPI_INT, MPI_MAX, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(out[0], world_rank + number, "MPI_Iscan of thread " + std::to_string(which), number);
        MPI_Bcast(in.data(), count, MPI_INT, number % world_size, comm);
        expect(in[0], number % world_size + number, "MPI_Bcast of thread " + std::to_string(which), number);
    }
}

int main(int argc, char **argv) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) stop("MPI_THREAD_MULTIPLE is not provided");
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    std::array<MPI_Comm, 3> comms;
    for (MPI_Comm &comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < comms.size(); ++i) threads.emplace_back(work, comms[i], static_cast<int>(i));
    }
    for (MPI_Comm &comm : comms) MPI_Comm_free(&comm);
    end();
}
