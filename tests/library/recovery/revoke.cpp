// SPDX-License-Identifier: BSD-3-Clause
/// Communicators are revoked in a job whose ranks all live. The argument says what the others do meanwhile.
#include "recovery.h"

#include <sys/mman.h>

namespace {

constexpr int large = 4 << 20;
constexpr int rounds = 40;
int value = 0;

bool is_revoked(int code) {
    return class_of(code) == MPIX_ERR_REVOKED;
}

MPI_Comm duplicate() {
    MPI_Comm made;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &made) == MPI_SUCCESS);
    return made;
}

/// Nothing can be done on it any more.
void check_useless(MPI_Comm comm) {
    int flag = 0;
    CHECK(MPIX_Comm_is_revoked(comm, &flag) == MPI_SUCCESS && flag);
    MPI_Comm made;
    MPI_Status status;
    CHECK(is_revoked(MPI_Send(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm)));
    CHECK(is_revoked(MPI_Recv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, &status)));
    CHECK(is_revoked(MPI_Send(&value, 1, MPI_INT, 0, 0, comm)));
    CHECK(is_revoked(MPI_Recv(&value, 1, MPI_INT, 0, 0, comm, &status)));
    CHECK(is_revoked(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &status)));
    CHECK(is_revoked(MPI_Barrier(comm)));
    CHECK(is_revoked(MPI_Comm_dup(comm, &made)));
}

/// Each of the others waits in another way.
int wait_for_message(int way, MPI_Comm comm) {
    static char buffer[large];
    MPI_Status status;
    MPI_Request request;
    MPI_Message message;
    int code;
    switch (way) {
    case 0:
        return MPI_Recv(&value, 1, MPI_INT, 0, 0, comm, &status);
    case 1:
        return MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    case 2:
        return MPI_Ssend(buffer, large, MPI_CHAR, 0, 0, comm);
    case 3:
        return MPI_Mprobe(0, 0, comm, &message, &status);
    case 4:
        code = MPI_Ibarrier(comm, &request);
        return code == MPI_SUCCESS ? MPI_Wait(&request, &status) : code;
    default:
        return MPI_Barrier(comm);
    }
}

void messages() {
    for (int round = 0; round < rounds; round++) {
        MPI_Comm comm = duplicate();
        if (world_rank == 0) {
            usleep(static_cast<useconds_t>(round % 4) * 300);
            CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
        } else {
            CHECK(is_revoked(wait_for_message((world_rank + round) % 6, comm)));
        }
        check_useless(comm);
        MPI_Comm shrunk;
        int size = 0;
        CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
        MPI_Comm_size(shrunk, &size);
        CHECK(size == world_size && MPI_Barrier(shrunk) == MPI_SUCCESS);
        MPI_Comm_free(&shrunk);
        MPI_Comm_free(&comm);
    }
}

/// Whoever gets the error may take its buffer away at once, though others were reading it. The first that has its data
/// revokes.
void buffers() {
    for (int round = 0; round < rounds; round++) {
        MPI_Comm comm = duplicate();
        void *mapped = mmap(nullptr, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        auto *buffer = static_cast<char *>(mapped);
        const int root = round % world_size;
        if (world_rank == root) std::memset(buffer, round, large);
        const bool scatters = round % 2 != 0;
        const int part = large / world_size;
        const int code = scatters ? MPI_Scatter(buffer, part, MPI_CHAR, world_rank == root ? MPI_IN_PLACE : buffer,
                                                part, MPI_CHAR, root, comm)
                                  : MPI_Bcast(buffer, large, MPI_CHAR, root, comm);
        CHECK(code == MPI_SUCCESS || is_revoked(code));
        if (code == MPI_SUCCESS) CHECK(buffer[0] == round && buffer[part - 1] == round);
        if (world_rank != root) CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
        munmap(mapped, large);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(is_revoked(MPI_Barrier(comm)));
        MPI_Comm_free(&comm);
    }
}

/// One that is alone has nobody to tell.
void alone() {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    check_useless(comm);
    MPI_Comm_free(&comm);
}

/// Of an intercommunicator a shrunk one is one as well, with the same order.
void between_groups() {
    MPI_Comm half, between, shrunk;
    const int color = world_rank < world_size / 3 ? 0 : 1, first = world_size / 3;
    MPI_Comm_split(MPI_COMM_WORLD, color, -world_rank, &half);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, color == 0 ? world_size - 1 : first - 1, 0, &between);
    if (world_rank == 1) CHECK(MPIX_Comm_revoke(between) == MPI_SUCCESS);
    if (world_rank != 1) CHECK(is_revoked(MPI_Barrier(between)));
    check_useless(between);
    CHECK(MPIX_Comm_shrink(between, &shrunk) == MPI_SUCCESS);
    int is_inter = 0, size = 0, remote = 0, rank = -1, own = -1;
    MPI_Comm_test_inter(shrunk, &is_inter);
    MPI_Comm_size(shrunk, &size);
    MPI_Comm_remote_size(shrunk, &remote);
    MPI_Comm_rank(shrunk, &rank);
    MPI_Comm_rank(half, &own);
    CHECK(is_inter && rank == own && size + remote == world_size && size == (color == 0 ? first : world_size - first));
    long sum = 0, one = world_rank;
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, shrunk) == MPI_SUCCESS);
    const long all = world_size * (world_size - 1) / 2, of_first = first * (first - 1) / 2;
    CHECK(sum == (color == 0 ? all - of_first : of_first));
    MPI_Comm merged;
    CHECK(MPI_Intercomm_merge(shrunk, color, &merged) == MPI_SUCCESS && MPI_Barrier(merged) == MPI_SUCCESS);
    for (MPI_Comm *each : {&merged, &shrunk, &between, &half}) MPI_Comm_free(each);
}

} // namespace

int main(int argc, char **argv) {
    start(&argc, &argv);
    const std::string what = argv[1];
    if (what == "messages") messages();
    if (what == "buffers") buffers();
    if (what == "alone") alone();
    if (what == "between groups") between_groups();
    return finish(MPI_COMM_WORLD);
}
