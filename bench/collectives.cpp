// SPDX-License-Identifier: BSD-3-Clause
/// What collective operations cost, each call of all ranks timed in a row; any MPI compiles and runs it:
///
///     mpicxx -std=c++20 -O2 collectives.cpp -o collectives && mpiexec -n 8 ./collectives
///
/// Two ranks that share an address space also exchange a cache line each without any library, to compare with.
#include "limit.h"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

namespace {

constexpr int attempts = 5;
constexpr double seconds_each = 0.02;
int rank, ranks;

/// The slowest rank's fastest attempt, in microseconds per call.
double microseconds(const std::function<void()> &call) {
    auto attempt = [&](int repetitions) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int i = 0; i < repetitions; i++) call();
        return (MPI_Wtime() - start) / repetitions;
    };
    double one = attempt(20);
    MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    int repetitions = std::clamp(static_cast<int>(seconds_each / one), 5, 5000);
    double best = 1e9, slowest;
    for (int i = 0; i < attempts; i++) best = std::min(best, attempt(repetitions));
    MPI_Allreduce(&best, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest * 1e6;
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    constexpr int largest = 1 << 20;
    std::vector<char> out(static_cast<std::size_t>(largest) * static_cast<std::size_t>(ranks), 1), in(out.size());
    double barrier = microseconds([] { MPI_Barrier(MPI_COMM_WORLD); });
    if (rank == 0) std::printf("barrier, %d ranks: %.3f us\n", ranks, barrier);
    Side mine;
    if (const Side *other = other_side(mine, rank, ranks)) {
        std::uint64_t turn = 0;
        double limit = microseconds([&] {
            mine.turn.store(++turn, std::memory_order_release);
            wait_for(*other, turn);
        });
        if (rank == 0) std::printf("a bare exchange: %.3f us\n", limit);
    }
    if (rank == 0) std::printf("\n%10s", "bytes");
    const char *names[] = {"bcast", "reduce", "allreduce", "allgather", "alltoall"};
    for (const char *name : names)
        if (rank == 0) std::printf(" %12s", name);
    for (int bytes = 8; bytes <= largest; bytes *= 8) {
        int doubles = bytes / 8;
        const std::function<void()> calls[] = {
            [&] { MPI_Bcast(in.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD); },
            [&] { MPI_Reduce(out.data(), in.data(), doubles, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); },
            [&] { MPI_Allreduce(out.data(), in.data(), doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); },
            [&] { MPI_Allgather(out.data(), bytes, MPI_BYTE, in.data(), bytes, MPI_BYTE, MPI_COMM_WORLD); },
            [&] { MPI_Alltoall(out.data(), bytes, MPI_BYTE, in.data(), bytes, MPI_BYTE, MPI_COMM_WORLD); },
        };
        if (rank == 0) std::printf("\n%10d", bytes);
        for (const auto &call : calls) {
            double time = microseconds(call);
            if (rank == 0) {
                std::printf(" %9.2f us", time);
                std::fflush(stdout);
            }
        }
    }
    if (rank == 0) std::printf("\n");
    MPI_Finalize();
}
