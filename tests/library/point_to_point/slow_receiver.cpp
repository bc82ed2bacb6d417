// SPDX-License-Identifier: BSD-3-Clause
/// A receiver that computes before each receive, and a sender that does not: the ring between them is full most of the
/// time, so the sender waits for room again and again.
///
///     slow_receiver blocking|windows MESSAGES BYTES MICROSECONDS
///
/// Rank 0 sends to every other rank, by MPI_Send one after the other, or by MPI_Isend and one MPI_Waitall. What the
/// sender waited at most and the whole time are printed, as what a user would see of a wake-up that was lost.
#include "../check.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace {

void compute(double microseconds) {
    double until = MPI_Wtime() + microseconds * 1e-6;
    while (MPI_Wtime() < until) {}
}

double longest_send = 0;

void send_one_by_one(int messages, int bytes) {
    for (int number = 0; number < messages; number++) {
        for (int to = 1; to < world_size; to++) {
            auto data = message(0, number, static_cast<std::size_t>(bytes));
            double began = MPI_Wtime();
            MPI_Send(data.data(), bytes, MPI_BYTE, to, number, MPI_COMM_WORLD);
            longest_send = std::max(longest_send, MPI_Wtime() - began);
        }
    }
}

void send_all_at_once(int messages, int bytes) {
    std::vector<std::vector<unsigned char>> data;
    std::vector<MPI_Request> requests;
    for (int number = 0; number < messages; number++) {
        data.push_back(message(0, number, static_cast<std::size_t>(bytes)));
        for (int to = 1; to < world_size; to++)
            MPI_Isend(data.back().data(), bytes, MPI_BYTE, to, number, MPI_COMM_WORLD,
                      &requests.emplace_back(MPI_REQUEST_NULL));
    }
    double began = MPI_Wtime();
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    longest_send = MPI_Wtime() - began;
}

void receive_slowly(int messages, int bytes, double microseconds) {
    std::vector<unsigned char> data(static_cast<std::size_t>(bytes));
    for (int number = 0; number < messages; number++) {
        compute(microseconds);
        MPI_Recv(data.data(), bytes, MPI_BYTE, 0, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(data == message(0, number, data.size()));
    }
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    const bool blocking = std::strcmp(argv[1], "blocking") == 0;
    const int messages = std::stoi(argv[2]), bytes = std::stoi(argv[3]);
    const double began = MPI_Wtime();
    if (world_rank != 0)
        receive_slowly(messages, bytes, std::stod(argv[4]));
    else if (blocking)
        send_one_by_one(messages, bytes);
    else
        send_all_at_once(messages, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0)
        std::printf("%.3f s in all, the longest wait of the sender %.1f ms\n", MPI_Wtime() - began, longest_send * 1e3);
}
