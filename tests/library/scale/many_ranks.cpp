// SPDX-License-Identifier: BSD-3-Clause
// Many ranks: collectives, messages among ranks drawn at random, and a flood of messages to one that receives the last
// first.
//
//     many_ranks SEED ROUNDS
#include "../check.h"

#include <algorithm>

namespace {

void test_collectives() {
    MPI_Barrier(MPI_COMM_WORLD);
    int sum = 0, first = world_rank == world_size - 1 ? 77 : 0;
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == world_size * (world_size - 1) / 2);
    MPI_Bcast(&first, 1, MPI_INT, world_size - 1, MPI_COMM_WORLD);
    CHECK(first == 77);
    std::vector<int> out(static_cast<std::size_t>(world_size)), in(out.size());
    for (int i = 0; i < world_size; i++) out[static_cast<std::size_t>(i)] = world_rank * 1000 + i;
    MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < world_size; i++) CHECK(in[static_cast<std::size_t>(i)] == i * 1000 + world_rank);
}

/// All draw the same pairs and lengths, and each does its part of them, all at a time.
void test_random_messages(std::mt19937 &draw) {
    struct Transfer {
        std::vector<unsigned char> data;
        int number, source;
    };
    const int transfers = 4 * world_size;
    std::vector<Transfer> mine;
    std::vector<MPI_Request> requests;
    mine.reserve(static_cast<std::size_t>(transfers));
    requests.reserve(2 * static_cast<std::size_t>(transfers));
    for (int number = 0; number < transfers; number++) {
        const int from = static_cast<int>(draw() % static_cast<unsigned>(world_size));
        const int to = static_cast<int>(draw() % static_cast<unsigned>(world_size));
        const std::size_t bytes = draw() % 10 == 0 ? draw() % 100000 : draw() % 200;
        if (world_rank == to) {
            mine.push_back({std::vector<unsigned char>(bytes), number, from});
            requests.push_back(MPI_REQUEST_NULL);
            MPI_Irecv(mine.back().data.data(), static_cast<int>(bytes), MPI_BYTE, from, number, MPI_COMM_WORLD,
                      &requests.back());
        }
        if (world_rank == from) {
            mine.push_back({message(from, number, bytes), number, -1});
            requests.push_back(MPI_REQUEST_NULL);
            MPI_Isend(mine.back().data.data(), static_cast<int>(bytes), MPI_BYTE, to, number, MPI_COMM_WORLD,
                      &requests.back());
        }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (const Transfer &transfer : mine)
        if (transfer.source >= 0)
            CHECK(transfer.data == message(transfer.source, transfer.number, transfer.data.size()));
}

/// With the largest tags there are.
void test_flood(int each) {
    int *largest_tag, found;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void *>(&largest_tag), &found);
    CHECK(found && *largest_tag >= 32767);
    if (world_rank != 0) {
        for (int i = 0; i < each; i++) MPI_Send(&i, 1, MPI_INT, 0, *largest_tag - i, MPI_COMM_WORLD);
    } else {
        for (int i = each; i-- > 0;)
            for (int source = world_size; --source > 0;) {
                int received = -1;
                MPI_Recv(&received, 1, MPI_INT, source, *largest_tag - i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK(received == i);
            }
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        int error_class;
        MPI_Error_class(MPI_Send(&each, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), &error_class);
        CHECK(error_class == MPI_ERR_TAG);
    }
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    std::mt19937 draw(static_cast<unsigned>(std::atol(argv[1])));
    for (int round = 0; round < std::atoi(argv[2]); round++) {
        test_collectives();
        test_random_messages(draw);
        test_flood(100);
    }
}
