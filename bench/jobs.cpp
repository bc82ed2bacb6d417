// SPDX-License-Identifier: BSD-3-Clause
/// Half a ping-pong between a process and one that it has started (MPI_Comm_spawn), next to the same between two ranks
/// of one job. Medians of 61 rounds, and the quickest.
///
///     mpicxx -std=c++20 -O2 bench/jobs.cpp -o jobs
///     mpiexec -n 1 jobs                     # starts another
///     mpiexec -n 2 --ranks process jobs     # two of one job
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

constexpr int rounds = 61;

int repetitions(int bytes) {
    return bytes <= 4096 ? 500 : bytes <= 65536 ? 100 : bytes <= 1 << 20 ? 20 : 4;
}

/// The duration of one half, in microseconds.
double half_ping_pong(MPI_Comm comm, int peer, bool begins, std::vector<char> &buffer, int bytes) {
    const int times = repetitions(bytes);
    const double begin = MPI_Wtime();
    for (int i = 0; i < times; i++) {
        if (begins) MPI_Send(buffer.data(), bytes, MPI_BYTE, peer, 0, comm);
        MPI_Recv(buffer.data(), bytes, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE);
        if (!begins) MPI_Send(buffer.data(), bytes, MPI_BYTE, peer, 0, comm);
    }
    return (MPI_Wtime() - begin) / times / 2 * 1e6;
}

void measure(MPI_Comm comm, int peer, bool begins) {
    std::vector<char> buffer(8 << 20);
    for (int bytes : {8, 1024, 16384, 65536, 1 << 20, 8 << 20}) {
        std::vector<double> halves;
        half_ping_pong(comm, peer, begins, buffer, bytes);
        for (int round = 0; round < rounds; round++)
            halves.push_back(half_ping_pong(comm, peer, begins, buffer, bytes));
        std::ranges::sort(halves);
        if (begins) std::printf("%9d bytes %10.2f us %10.2f\n", bytes, halves[rounds / 2], halves[0]);
        std::fflush(stdout);
    }
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int size, rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm other;
    MPI_Comm_get_parent(&other);
    const bool is_child = other != MPI_COMM_NULL;
    if (size > 1) {
        measure(MPI_COMM_WORLD, 1 - rank, rank == 0);
    } else {
        if (!is_child)
            MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE);
        measure(other, 0, !is_child);
        MPI_Comm_disconnect(&other);
    }
    MPI_Finalize();
}
