// SPDX-License-Identifier: BSD-3-Clause
/// A sender that starts a large message by MPI_Isend, looks after it a few times, and is then away from MPI until the
/// receiver has got it: the receiver reads it where it lies, whatever of it has been brought by then.
///
///     absent_sender FOLDER
///
/// In FOLDER the receiver leaves an empty file for each message that it has received and checked.
#include "../check.h"

#include <string>
#include <unistd.h>

namespace {

constexpr int bytes = 12 << 20, most_looks = 24;
constexpr double patience = 20; // seconds

void send(int looks, const std::string &mark) {
    auto data = message(0, looks, bytes);
    MPI_Request request;
    MPI_Isend(data.data(), bytes, MPI_BYTE, 1, looks, MPI_COMM_WORLD, &request);
    int flag = 0;
    for (int i = 0; i < looks; i++) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    for (double began = MPI_Wtime(); access(mark.c_str(), F_OK) != 0;)
        CHECK(MPI_Wtime() - began < patience); // else the receiver waits for a sender that is not in MPI
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void receive(int looks, const std::string &mark) {
    std::vector<unsigned char> data(bytes);
    MPI_Recv(data.data(), bytes, MPI_BYTE, 0, looks, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(data == message(0, looks, bytes));
    std::fclose(std::fopen(mark.c_str(), "w"));
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    for (int looks = 0; looks < most_looks; looks++) {
        std::string mark = std::string(argv[1]) + "/" + std::to_string(looks);
        if (world_rank == 0)
            send(looks, mark);
        else
            receive(looks, mark);
    }
}
