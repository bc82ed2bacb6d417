// SPDX-License-Identifier: BSD-3-Clause
/// What peers cost that a rank has talked to once and hears nothing of now: half a ping-pong round trip of ranks 0 and
/// 1 in ns, before and after all ranks have exchanged messages. The others sleep meanwhile.
///
///     mpicxx -std=c++20 -O2 inactive.cpp -o inactive && mpiexec -n 64 ./inactive
#include <mpi.h>

#include <algorithm>
#include <cstdio>

namespace {

constexpr int attempts = 30, repetitions = 2000;
int rank, ranks;

enum class Receiving { blocking, tested };

void send() {
    char byte = 0;
    MPI_Send(&byte, 1, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
}

void receive(Receiving how) {
    char byte;
    if (how == Receiving::blocking) {
        MPI_Recv(&byte, 1, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Request request;
    MPI_Irecv(&byte, 1, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &request);
    for (int there = 0; !there;) MPI_Test(&request, &there, MPI_STATUS_IGNORE);
}

/// The fastest of some attempts, since other programs interrupt some.
double half_round_trip_ns(Receiving how) {
    double best = 1e18;
    for (int attempt = 0; attempt < attempts; attempt++) {
        const double began = MPI_Wtime();
        for (int i = 0; i < repetitions; i++) {
            if (rank == 0) send();
            receive(how);
            if (rank == 1) send();
        }
        best = std::min(best, (MPI_Wtime() - began) / repetitions / 2 * 1e9);
    }
    return best;
}

void ping_pong(const char *when) {
    char byte = 0;
    if (rank > 1) {
        MPI_Recv(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    const double blocking = half_round_trip_ns(Receiving::blocking), tested = half_round_trip_ns(Receiving::tested);
    if (rank == 1) return;
    std::printf("%4d ranks, %s exchange: MPI_Recv %.0f ns, MPI_Irecv and MPI_Test %.0f ns\n", ranks, when, blocking,
                tested);
    for (int other = 2; other < ranks; other++) MPI_Send(&byte, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD);
}

void exchange() {
    for (int distance = 1; distance < ranks; distance++) {
        char out = 0, in;
        MPI_Sendrecv(&out, 1, MPI_BYTE, (rank + distance) % ranks, 0, &in, 1, MPI_BYTE,
                     (rank + ranks - distance) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > 1) {
        ping_pong("before the");
        exchange();
        ping_pong("after the");
    }
    MPI_Finalize();
}
