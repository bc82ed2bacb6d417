// SPDX-License-Identifier: BSD-3-Clause
// Some of everything for which ranks share memory, each a few times, and results are right.
#include "../check.h"

#include <numeric>

namespace {

void exchange(int count, MPI_Datatype type, std::size_t room) {
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    std::vector<int> out(room, world_rank), in(room, -1);
    MPI_Request request;
    MPI_Isend(out.data(), count, type, right, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(in.data(), count, type, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in.front() == left);
    MPI_Issend(out.data(), count, type, right, 2, MPI_COMM_WORLD, &request);
    MPI_Recv(in.data(), count, type, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void reduce(MPI_Comm communicator, std::size_t count) {
    int size = 0;
    MPI_Comm_size(communicator, &size);
    std::vector<int> own(count, 1), all(count), gathered(count * static_cast<std::size_t>(size));
    MPI_Allreduce(own.data(), all.data(), static_cast<int>(count), MPI_INT, MPI_SUM, communicator);
    CHECK(all.front() == size && all.back() == size);
    MPI_Allgather(own.data(), static_cast<int>(count), MPI_INT, gathered.data(), static_cast<int>(count), MPI_INT,
                  communicator);
    CHECK(std::accumulate(gathered.begin(), gathered.end(), 0) == size * static_cast<int>(count));
}

} // namespace

int main(int count, char **arguments) {
    Mpi mpi(&count, &arguments);
    MPI_Datatype every_other;
    MPI_Type_vector(300000, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    for (int round = 0; round < 2; round++) {
        for (int size : {1, 5000, 100000, 1000000}) exchange(size, MPI_INT, static_cast<std::size_t>(size));
        exchange(1, every_other, 600000);
        MPI_Comm duplicate, half, inter, merged;
        MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
        MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &half);
        MPI_Intercomm_create(half, 0, duplicate, 1 - world_rank % 2, 3, &inter);
        MPI_Intercomm_merge(inter, world_rank % 2, &merged);
        for (MPI_Comm each : {duplicate, half, merged})
            for (std::size_t size : {1U, 1000U, 100000U}) reduce(each, size);
        for (MPI_Comm *each : {&duplicate, &half, &inter, &merged}) MPI_Comm_free(each);
    }
    MPI_Type_free(&every_other);
    return 0;
}
