// SPDX-License-Identifier: BSD-3-Clause
/// Messages that are pipelined through blocks of the arena, in both directions, in one, and in turns of them, while
/// little of the arena is left: blocks may go over to those who have read them, but they must not get lost.
#include "../check.h"

#include <mpi.h>

#include <fstream>
#include <string>
#include <vector>

static void fill(std::vector<int> &data, int turn, int sender) {
    for (std::size_t i = 0; i < data.size(); i += 16) data[i] = turn * 1000 + sender + static_cast<int>(i);
}

static void check_filled(const std::vector<int> &data, std::size_t length, int turn, int sender) {
    for (std::size_t i = 0; i < length; i += 16) CHECK(data[i] == turn * 1000 + sender + static_cast<int>(i));
}

/// Pages of shared memory that this rank uses, in KiB.
static long shared_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "RssShmem:") {
            status >> word;
            return std::stol(word);
        }
    return 0;
}

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    int rank = world_rank, ranks = world_size;
    int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    long at_first = 0;
    for (int turn = 0; turn < 1800; turn++) {
        std::vector<int> out(turn % 3 == 0 ? 50000 : 10000), in(out.size());
        auto length = static_cast<int>(out.size());
        fill(out, turn, rank);
        switch (turn / 300 % 3) {
        case 0: // both ways
            MPI_Sendrecv(out.data(), length, MPI_INT, next, 0, in.data(), length, MPI_INT, previous, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            check_filled(in, in.size(), turn, previous);
            break;
        case 1: // one way
            if (rank == 0) MPI_Send(out.data(), length, MPI_INT, 1, 0, MPI_COMM_WORLD);
            if (rank == 1) {
                MPI_Recv(in.data(), length, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                check_filled(in, in.size(), turn, 0);
            }
            break;
        default: // the other, not all of which fits
            if (rank == 1) MPI_Send(out.data(), length, MPI_INT, 0, 0, MPI_COMM_WORLD);
            if (rank == 0) {
                MPI_Request request;
                MPI_Status status;
                MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
                MPI_Irecv(in.data(), length / 2, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
                int error = MPI_Wait(&request, &status), error_class;
                MPI_Error_class(error, &error_class);
                CHECK(error_class == MPI_ERR_TRUNCATE);
                check_filled(in, in.size() / 2, turn, 1);
            }
            break;
        }
        if (turn % 4 == 0) MPI_Barrier(MPI_COMM_WORLD); // so that few are on their way
        if (turn == 20) at_first = shared_kib();
    }
    CHECK(at_first > 0);
    CHECK(shared_kib() < at_first + 4096);
}
