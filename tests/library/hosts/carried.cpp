// SPDX-License-Identifier: BSD-3-Clause
// carried WHAT: messages of the first rank and the last, or of all.
//
// all: each rank sends to all others at once.
// computing SENT RECEIVED: the sender returns from all sends while the receiver is outside MPI, and is outside MPI
// itself until the receiver has got all. They tell each other by two named pipes.
// large: 80 MiB both ways at once.
// leave: the first rank finalises at once when it has sent.
#include "../check.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

constexpr int messages = 230;
constexpr std::size_t message_bytes = 16000; ///< all together less than a sender may be ahead, 4 MiB
constexpr int large_bytes = 80 << 20;

void tell(const char *pipe) {
    const int end = open(pipe, O_WRONLY);
    CHECK(end >= 0 && write(end, "!", 1) == 1);
    close(end);
}

void hear(const char *pipe) {
    char byte = 0;
    const int end = open(pipe, O_RDONLY);
    CHECK(end >= 0 && read(end, &byte, 1) == 1);
    close(end);
}

std::vector<unsigned char> message(int source, int number, std::size_t bytes) {
    std::vector<unsigned char> made(bytes);
    for (std::size_t i = 0; i < bytes; i++) made[i] = expected_byte(source, number, i);
    return made;
}

void send_all(int to) {
    for (int number = 0; number < messages; number++)
        MPI_Send(message(0, number, message_bytes).data(), static_cast<int>(message_bytes), MPI_BYTE, to, 0,
                 MPI_COMM_WORLD);
}

void receive_all() {
    std::vector<unsigned char> got(message_bytes);
    for (int number = 0; number < messages; number++) {
        MPI_Recv(got.data(), static_cast<int>(message_bytes), MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got == message(0, number, message_bytes));
    }
}

void exchange_large(int peer) {
    const auto out = message(world_rank, 1, large_bytes), expected = message(peer, 1, large_bytes);
    std::vector<unsigned char> in(large_bytes);
    MPI_Request both[2];
    MPI_Irecv(in.data(), large_bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(out.data(), large_bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    CHECK(in == expected);
}

void exchange_with_all() {
    constexpr int bytes = 1000;
    const auto ranks = static_cast<std::size_t>(world_size);
    const auto out = message(world_rank, 2, bytes);
    std::vector<std::vector<unsigned char>> in(ranks, std::vector<unsigned char>(bytes));
    std::vector<MPI_Request> requests(2 * ranks);
    for (int rank = 0; rank < world_size; rank++) {
        const auto place = static_cast<std::size_t>(rank);
        MPI_Irecv(in[place].data(), bytes, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests[place]);
        MPI_Isend(out.data(), bytes, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests[ranks + place]);
    }
    MPI_Waitall(2 * world_size, requests.data(), MPI_STATUSES_IGNORE);
    for (int rank = 0; rank < world_size; rank++) CHECK(in[static_cast<std::size_t>(rank)] == message(rank, 2, bytes));
}

} // namespace

int main(int count, char **arguments) {
    CHECK(count > 1);
    const std::string what = arguments[1];
    if (what == "leave") {
        MPI_Init(nullptr, nullptr);
        MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &world_size);
        if (world_rank == 0) send_all(world_size - 1);
        if (world_rank == world_size - 1) receive_all();
        MPI_Finalize();
        if (world_rank == world_size - 1) std::puts("good");
        return 0;
    }
    const Mpi mpi(&count, &arguments);
    const int last = world_size - 1;
    if (what == "large" && (world_rank == 0 || world_rank == last)) exchange_large(last - world_rank);
    if (what == "all") exchange_with_all();
    if (what == "computing") {
        if (world_rank == 0) {
            send_all(last);
            tell(arguments[2]);
            hear(arguments[3]);
        }
        if (world_rank == last) {
            hear(arguments[2]);
            receive_all();
            tell(arguments[3]);
        }
    }
    return 0;
}
