// SPDX-License-Identifier: BSD-3-Clause
/// What a message costs next to what this machine could do, in one run: half a ping-pong round trip of two ranks, and
/// a limit, which hands over a cache line and copies with memcpy out of the other's buffer, without any library.
///
///     mpicxx -std=c++20 -O2 messages.cpp -o messages && mpiexec -n 2 ./messages
///
/// The limit needs ranks that share an address space; with --ranks process only the first column is there.
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t largest = 8 << 20;
constexpr int attempts = 20;
int rank;

double now_ns() {
    return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// What one rank lets the other see.
struct alignas(128) Side {
    alignas(128) std::atomic<std::uint64_t> turn{0};
    const char *data = nullptr;
};

/// The fastest of some attempts, in ns per repetition; other programs interrupt some.
template <class Body> double fastest(int repetitions, Body &&body) {
    double best = 1e18;
    for (int attempt = 0; attempt < attempts; attempt++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now_ns();
        for (int i = 0; i < repetitions; i++) body();
        best = std::min(best, (now_ns() - start) / repetitions);
    }
    return best;
}

void ping_pong(std::vector<char> &buffer, int bytes) {
    if (rank == 0) {
        MPI_Send(buffer.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(buffer.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

/// The same without a library: word of the message through one line, its data by memcpy from the other's buffer.
void bare_ping_pong(Side &mine, const Side &other, std::vector<char> &buffer, std::size_t bytes, std::uint64_t &turn) {
    auto take = [&] {
        while (other.turn.load(std::memory_order_acquire) != turn) __builtin_ia32_pause();
        std::memcpy(buffer.data(), other.data, bytes);
    };
    turn++;
    if (rank == 0) {
        mine.turn.store(turn, std::memory_order_release);
        take();
    } else {
        take();
        mine.turn.store(turn, std::memory_order_release);
    }
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        if (rank == 0) std::fprintf(stderr, "messages: run it with mpiexec -n 2, not %d\n", ranks);
        MPI_Finalize();
        return 2;
    }
    std::vector<char> buffer(largest, static_cast<char>(rank));
    Side mine;
    mine.data = buffer.data();
    Side *both[2];
    Side *own = &mine;
    MPI_Allgather(&own, sizeof own, MPI_BYTE, both, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
    pid_t process = getpid(), processes[2];
    MPI_Allgather(&process, sizeof process, MPI_BYTE, processes, sizeof process, MPI_BYTE, MPI_COMM_WORLD);
    bool shared = syscall(SYS_kcmp, processes[0], processes[1], KCMP_VM, 0, 0) == 0;
    if (rank == 0) std::printf("%10s %12s %12s %8s\n", "bytes", "half trip", "limit", "ratio");
    std::uint64_t turn = 0;
    for (std::size_t bytes = 1; bytes <= largest; bytes *= bytes < 8 ? 8 : 2) {
        int repetitions = static_cast<int>(std::clamp<std::size_t>((4 << 20) / bytes, 4, 2000));
        double half = fastest(repetitions, [&] { ping_pong(buffer, static_cast<int>(bytes)); }) / 2;
        double limit =
            shared ? fastest(repetitions, [&] { bare_ping_pong(mine, *both[1 - rank], buffer, bytes, turn); }) / 2 : 0;
        if (rank == 0 && shared)
            std::printf("%10zu %9.3f us %9.3f us %8.2f\n", bytes, half / 1e3, limit / 1e3, half / limit);
        else if (rank == 0)
            std::printf("%10zu %9.3f us %12s\n", bytes, half / 1e3, "-");
        std::fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
