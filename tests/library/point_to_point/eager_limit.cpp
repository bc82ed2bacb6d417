// SPDX-License-Identifier: BSD-3-Clause
// Up to which size a send is complete before its receiver has begun: exactly the limit the first argument names. Large
// messages arrive all the same. With a second argument the library learns: a few in a row may stay in their buffers.
#include "../check.h"

namespace {

/// Whether a message of `bytes` is sent at once; the receiver takes it afterwards.
bool is_eager(int bytes) {
    std::vector<unsigned char> data = message(0, bytes, static_cast<std::size_t>(bytes));
    MPI_Request request;
    int flag = 0;
    if (world_rank == 0) {
        MPI_Isend(data.data(), bytes, MPI_UNSIGNED_CHAR, 1, 1, MPI_COMM_WORLD, &request);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Bcast(&flag, 1, MPI_INT, 0, MPI_COMM_WORLD); // rank 1 waits here until then
    if (world_rank == 0) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        std::vector<unsigned char> got(data.size());
        MPI_Recv(got.data(), bytes, MPI_UNSIGNED_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got == data);
    }
    return flag != 0;
}

} // namespace

int main(int argc, char **argv) {
    const Mpi mpi(&argc, &argv);
    const int limit = std::atoi(argv[1]), most_attempts = argc > 2 ? 8 : 1;
    for (int bytes : {0, 1, limit / 2, limit - 1, limit}) {
        if (bytes < 0 || bytes > limit) continue;
        bool eager = false;
        for (int attempts = 0; !eager && attempts < most_attempts; attempts++) eager = is_eager(bytes);
        CHECK(eager);
    }
    for (int bytes : {limit + 1, 2 * limit + 1, 3'000'000}) CHECK(!is_eager(bytes));
}
