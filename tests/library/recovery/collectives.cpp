// SPDX-License-Identifier: BSD-3-Clause
/// Ranks are killed at random times while all do collective operations. The survivors revoke the communicator, shrink
/// it and go on, until two are left. Arguments: operation, seed.
#include "recovery.h"

#include <array>

namespace {

int rank, size;
std::vector<long> in(1 << 16, 1), out(1 << 16);

long sum_of(MPI_Comm communicator, int count) {
    out[0] = 0;
    const int code = MPI_Allreduce(in.data(), out.data(), count, MPI_LONG, MPI_SUM, communicator);
    return code == MPI_SUCCESS ? out[static_cast<std::size_t>(count) - 1] : -class_of(code);
}

/// One operation; what it gives is checked if it succeeds. Returns an error class.
int once(const std::string &operation, MPI_Comm communicator, int round) {
    if (operation == "barrier") return class_of(MPI_Barrier(communicator));
    if (operation == "allreduce" || operation == "allreduce long") {
        const long sum = sum_of(communicator, operation == "allreduce" ? 1 : static_cast<int>(in.size()));
        CHECK(sum == size || sum < 0);
        return sum < 0 ? static_cast<int>(-sum) : MPI_SUCCESS;
    }
    if (operation == "bcast") {
        const int root = round % size;
        long value = rank == root ? round : -1;
        const int code = MPI_Bcast(&value, 1, MPI_LONG, root, communicator);
        CHECK(code != MPI_SUCCESS || value == round);
        return class_of(code);
    }
    if (operation == "gather") {
        const int root = round % size;
        std::vector<long> all(static_cast<std::size_t>(size), -1);
        const long own = rank + round;
        const int code = MPI_Gather(&own, 1, MPI_LONG, all.data(), 1, MPI_LONG, root, communicator);
        for (int each = 0; code == MPI_SUCCESS && rank == root && each < size; each++)
            CHECK(all[static_cast<std::size_t>(each)] == each + round);
        return class_of(code);
    }
    if (operation == "alltoall long") {
        const int count = static_cast<int>(in.size()) / size;
        return class_of(MPI_Alltoall(in.data(), count, MPI_LONG, out.data(), count, MPI_LONG, communicator));
    }
    if (operation == "iallreduce") {
        MPI_Request request;
        int code = MPI_Iallreduce(in.data(), out.data(), 1000, MPI_LONG, MPI_SUM, communicator, &request);
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(code != MPI_SUCCESS || out[999] == size);
        return class_of(code);
    }
    if (operation == "split") {
        MPI_Comm half;
        const int code = MPI_Comm_split(communicator, rank % 2, 0, &half);
        if (code == MPI_SUCCESS) MPI_Comm_free(&half);
        return class_of(code);
    }
    CHECK(operation == "dup");
    MPI_Comm copy;
    const int code = MPI_Comm_dup(communicator, &copy);
    if (code == MPI_SUCCESS) MPI_Comm_free(&copy);
    return class_of(code);
}

} // namespace

int main(int argc, char **argv) {
    start(&argc, &argv);
    const std::string operation = argv[1];
    std::mt19937 random(static_cast<unsigned>(std::atoi(argv[2])));
    MPI_Comm current = MPI_COMM_WORLD;
    MPI_Comm_size(current, &size);
    MPI_Comm_rank(current, &rank);
    while (size > 2) {
        const int victim = static_cast<int>(random() % static_cast<unsigned>(size));
        const long when = static_cast<long>(random() % 2000);
        if (rank == victim) die_in(when);
        int error_class = MPI_SUCCESS;
        for (int round = 0; error_class == MPI_SUCCESS; round++) error_class = once(operation, current, round);
        CHECK(error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_REVOKED);
        if (rank == victim) die();
        CHECK(MPIX_Comm_revoke(current) == MPI_SUCCESS);
        // Nothing can be done on it any more.
        CHECK(class_of(MPI_Barrier(current)) == MPIX_ERR_REVOKED);
        CHECK(class_of(MPI_Send(&rank, 1, MPI_INT, rank, 0, current)) == MPIX_ERR_REVOKED);
        long value;
        CHECK(class_of(MPI_Recv(&value, 1, MPI_LONG, MPI_ANY_SOURCE, 0, current, MPI_STATUS_IGNORE)) ==
              MPIX_ERR_REVOKED);
        int flag = 0;
        CHECK(MPIX_Comm_is_revoked(current, &flag) == MPI_SUCCESS && flag);
        MPI_Comm shrunk;
        CHECK(MPIX_Comm_shrink(current, &shrunk) == MPI_SUCCESS);
        if (current != MPI_COMM_WORLD) MPI_Comm_free(&current);
        current = shrunk;
        int before = size;
        MPI_Comm_size(current, &size);
        MPI_Comm_rank(current, &rank);
        CHECK(size == before - 1);
        CHECK(sum_of(current, 10) == size);
        MPIX_Comm_agree(current, &flag); // nobody dies while others are still in that operation
    }
    return finish(current);
}
