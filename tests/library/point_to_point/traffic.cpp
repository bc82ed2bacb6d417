// SPDX-License-Identifier: BSD-3-Clause
/// Random traffic: every rank sends every rank (itself too) messages of all sizes in every mode, received in every
/// way; nothing is lost, changed or overtaken.
#include "../check.h"

#include <algorithm>
#include <memory>

namespace {

constexpr int messages_each = 60;
constexpr std::size_t sizes[] = {0,    1,    8,     40,    41,    64,    1000,  4095,   4096,    4097,   8192,
                                 8193, 9000, 16384, 16385, 32768, 65536, 70001, 200000, 1048576, 3000001};

std::size_t size_of(int source, int destination, int number) {
    // The same at both ends.
    std::minstd_rand random(static_cast<unsigned>(1 + source * 1009 + destination * 9176 + number * 131));
    random.discard(3);
    std::size_t size = sizes[random() % std::size(sizes)];
    // The large ones seldom: time.
    return size > 300000 && random() % 6 != 0 ? size / 1000 : size;
}

struct Outgoing {
    std::vector<unsigned char> data;
    MPI_Request request = MPI_REQUEST_NULL;
};

void start(Outgoing &outgoing, int destination, int number) {
    outgoing.data = message(world_rank, number, size_of(world_rank, destination, number));
    int count = static_cast<int>(outgoing.data.size());
    const void *data = outgoing.data.data();
    switch (number % 4) {
    case 0:
        MPI_Isend(data, count, MPI_BYTE, destination, number, MPI_COMM_WORLD, &outgoing.request);
        break;
    case 1:
        MPI_Issend(data, count, MPI_BYTE, destination, number, MPI_COMM_WORLD, &outgoing.request);
        break;
    case 2:
        MPI_Send_init(data, count, MPI_BYTE, destination, number, MPI_COMM_WORLD, &outgoing.request);
        MPI_Start(&outgoing.request);
        break;
    default:
        MPI_Ibsend(data, count, MPI_BYTE, destination, number, MPI_COMM_WORLD, &outgoing.request);
    }
}

void check_message(const std::vector<unsigned char> &data, const MPI_Status &status, int source, int number) {
    int count;
    MPI_Get_count(&status, MPI_BYTE, &count);
    std::size_t size = size_of(source, world_rank, number);
    CHECK(static_cast<std::size_t>(count) == size);
    CHECK(status.MPI_SOURCE == source);
    CHECK(status.MPI_TAG == number);
    CHECK(std::equal(data.begin(), data.begin() + count, message(source, number, size).begin()));
}

/// One message from `source`, the next in its order.
void receive(int source, int number, std::minstd_rand &random) {
    std::size_t size = size_of(source, world_rank, number);
    std::vector<unsigned char> data(size + 5, 0xee);
    int room = static_cast<int>(data.size());
    MPI_Status status;
    switch (random() % 4) {
    case 0:
        MPI_Recv(data.data(), room, MPI_BYTE, source, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        break;
    case 1: {
        MPI_Message taken;
        MPI_Mprobe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &taken, &status);
        check_message(message(source, number, size), status, source, number);
        MPI_Mrecv(data.data(), room, MPI_BYTE, &taken, &status);
        break;
    }
    case 2: {
        MPI_Request request;
        MPI_Irecv(data.data(), room, MPI_BYTE, source, number, MPI_COMM_WORLD, &request);
        int flag = 0;
        while (!flag) MPI_Test(&request, &flag, &status);
        break;
    }
    default:
        MPI_Probe(source, number, MPI_COMM_WORLD, &status);
        MPI_Recv(data.data(), room, MPI_BYTE, source, number, MPI_COMM_WORLD, &status);
    }
    check_message(data, status, source, number);
    for (std::size_t i = size; i < data.size(); i++) CHECK(data[i] == 0xee);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    std::minstd_rand random(static_cast<unsigned>(world_rank + 1));
    auto peers = static_cast<std::size_t>(world_size);
    std::vector<Outgoing> outgoing(peers * messages_each);
    std::vector<int> received(peers, 0);
    for (int number = 0; number < messages_each; number++) {
        for (int peer = 0; peer < world_size; peer++)
            start(outgoing[static_cast<std::size_t>(number) * peers + static_cast<std::size_t>(peer)], peer, number);
        // Sometimes behind, sometimes up to date.
        for (int peer = 0; peer < world_size; peer++) {
            int &done = received[static_cast<std::size_t>(peer)];
            while (done <= number - static_cast<int>(random() % 8)) receive(peer, done++, random);
        }
    }
    for (int peer = 0; peer < world_size; peer++) {
        int &done = received[static_cast<std::size_t>(peer)];
        while (done < messages_each) receive(peer, done++, random);
    }
    for (Outgoing &each : outgoing) {
        MPI_Wait(&each.request, MPI_STATUS_IGNORE);
        if (each.request != MPI_REQUEST_NULL) MPI_Request_free(&each.request);
    }
    void *buffer;
    int size;
    MPI_Buffer_detach(&buffer, &size);
    CHECK(buffer == MPI_BUFFER_AUTOMATIC);
}
