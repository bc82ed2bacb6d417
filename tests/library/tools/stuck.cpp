// SPDX-License-Identifier: BSD-3-Clause
// A program that blocks in the way its first argument names, until it is killed.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

int rank, size;

[[gnu::noinline]] void compute_for_ever() {
    volatile bool ever = true;
    while (ever) {}
}

void receive(int source, int tag, MPI_Comm communicator) {
    int value[4];
    MPI_Recv(value, 4, MPI_INT, source, tag, communicator, MPI_STATUS_IGNORE);
}

/// Each waits for its neighbour.
void receives() {
    receive((rank + 1) % size, 5, MPI_COMM_WORLD);
}

/// Rank 1 does not come to the barrier, and computes.
void missing() {
    if (rank == 1) compute_for_ever();
    MPI_Barrier(MPI_COMM_WORLD);
}

/// Rank 1 waits for rank 0 instead of coming to the collective operation.
void diverted() {
    if (rank == 1)
        receive(0, 9, MPI_COMM_WORLD);
    else
        MPI_Barrier(MPI_COMM_WORLD);
}

/// Ranks disagree on what is next.
void mismatch() {
    int value = rank, sum = 0;
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/// Rank 1 sends tag 6, rank 0 wants tag 5.
void tag() {
    int value[4] = {};
    if (rank == 0) receive(1, 5, MPI_COMM_WORLD);
    if (rank == 1) MPI_Send(value, 2, MPI_INT, 0, 6, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/// Rank 0 never receives what the others send: small and large messages, of which it has looked at some.
void unreceived() {
    static std::vector<char> large(100000), small(100);
    MPI_Request request;
    if (rank != 0) {
        MPI_Send(small.data(), 100, MPI_CHAR, 0, 10 + rank, MPI_COMM_WORLD);
        MPI_Isend(large.data(), 100000, MPI_CHAR, 0, 20 + rank, MPI_COMM_WORLD, &request);
    }
    MPI_Barrier(MPI_COMM_WORLD); // makes rank 0 look
    if (rank == 1) MPI_Send(small.data(), 3, MPI_CHAR, 0, 30, MPI_COMM_WORLD);
    if (rank != 0) receive(0, 40, MPI_COMM_WORLD);
    compute_for_ever();
}

/// A hundred messages that rank 0 has looked at, and three that it has not.
void many() {
    if (rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        receive(1, 5, MPI_COMM_WORLD);
        MPI_Send(nullptr, 0, MPI_INT, 1, 6, MPI_COMM_WORLD); // and does not look any more
        compute_for_ever();
    }
    for (int i = 0; i < 100; i++) MPI_Send(nullptr, 0, MPI_INT, 0, 100 + i, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(nullptr, 0, MPI_INT, 0, 5, MPI_COMM_WORLD);
    receive(0, 6, MPI_COMM_WORLD);
    for (int i = 1; i <= 3; i++) MPI_Send(nullptr, 0, MPI_INT, 0, i, MPI_COMM_WORLD);
    receive(0, 5, MPI_COMM_WORLD);
}

/// Rank 0 receives the last of six messages first, so that all have come, then three others in an order of its own.
void unordered() {
    if (rank == 1)
        for (int i = 0; i < 6; i++) MPI_Send(nullptr, 0, MPI_INT, 0, 100 + i, MPI_COMM_WORLD);
    if (rank == 0)
        for (int i : {105, 100, 104, 102}) receive(1, i, MPI_COMM_WORLD);
    receive(1 - rank, 5, MPI_COMM_WORLD);
}

/// In a communicator with a name, whose ranks are reversed.
void named() {
    MPI_Comm reversed, nameless;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_dup(reversed, &nameless);
    MPI_Comm_set_name(reversed, "reversed \"rows\"");
    if (rank == 0)
        receive(0, 3, reversed);
    else
        receive(MPI_ANY_SOURCE, MPI_ANY_TAG, nameless);
}

/// Broadcasts from different roots.
void root() {
    double value[3] = {};
    MPI_Bcast(value, 3, MPI_DOUBLE, rank == 0 ? 1 : 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/// Two ranks wait for each other, the others compute.
void pair() {
    if (rank > 1) compute_for_ever();
    std::vector<char> data(4000000);
    MPI_Ssend(data.data(), 4000000, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD);
}

void requests() {
    int value;
    MPI_Request pending[2];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&value, 1, MPI_INT, (rank + 1 + i) % size, 50 + i, MPI_COMM_WORLD, &pending[i]);
    int which;
    if (rank == 0)
        MPI_Waitany(2, pending, &which, MPI_STATUS_IGNORE);
    else
        MPI_Waitall(2, pending, MPI_STATUSES_IGNORE);
}

/// Two ranks wait for one of several messages from each other, the others compute.
void one_of() {
    if (rank > 1) compute_for_ever();
    int value, which;
    MPI_Request pending[2];
    for (int i = 0; i < 2; i++) MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 60 + i, MPI_COMM_WORLD, &pending[i]);
    MPI_Waitany(2, pending, &which, MPI_STATUS_IGNORE);
}

/// Ranks but the first are in MPI_Finalize.
void finalize() {
    if (rank == 0) receive(1, 1, MPI_COMM_WORLD);
}

void duplicate() {
    MPI_Comm copy;
    if (rank == 0) receive(1, 1, MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
}

/// Rank 0 asks the last rank once a byte of standard input has come, and waits for its answer.
void asks() {
    int value[4] = {};
    if (rank == size - 1) {
        for (int times = 0; times < 2; times++) {
            receive(0, 5, MPI_COMM_WORLD);
            MPI_Send(value, 4, MPI_INT, 0, 6, MPI_COMM_WORLD);
        }
    }
    for (int times = 0; rank == 0 && times < 2; times++) {
        if (times == 1) std::getchar();
        MPI_Send(value, 4, MPI_INT, size - 1, 5, MPI_COMM_WORLD);
        receive(size - 1, 6, MPI_COMM_WORLD);
    }
}

struct Way {
    const char *name;
    void (*take)();
};

constexpr Way ways[] = {{"receives", receives},  {"missing", missing},   {"diverted", diverted},
                        {"mismatch", mismatch},  {"tag", tag},           {"unreceived", unreceived},
                        {"named", named},        {"root", root},         {"pair", pair},
                        {"requests", requests},  {"finalize", finalize}, {"duplicate", duplicate},
                        {"one_of", one_of},      {"many", many},         {"asks", asks},
                        {"unordered", unordered}};

} // namespace

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (const Way &way : ways)
        if (count > 1 && std::strcmp(way.name, arguments[1]) == 0) way.take();
    MPI_Finalize();
}
