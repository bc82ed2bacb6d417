// SPDX-License-Identifier: BSD-3-Clause
/// What a message costs next to what this machine could do, in one run: half a ping-pong round trip of two ranks, and
/// a limit, which hands over a cache line and copies with memcpy out of the other's buffer, without any library.
///
/// What the programs do with the buffers decides where their lines lie, so there are three ping-pongs: "back" sends
/// what came, out of the same buffer (as does the limit); "kept" sends another buffer, which nobody writes; "written"
/// does so, too, but writes every line before it is sent and reads every line that came, as most programs do.
///
///     mpicxx -std=c++20 -O2 messages.cpp -o messages && mpiexec -n 2 ./messages
///
/// The limit needs ranks that share an address space; with --ranks process it is missing.
#include "limit.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t largest = 8 << 20;
constexpr int attempts = 20;
constexpr std::size_t line_bytes = 64;
int rank;

double now_ns() {
    return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count());
}

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

/// `make` is called before a message is sent, `look` after one has come.
template <class Make, class Look> void ping_pong(const char *out, char *in, int bytes, Make &&make, Look &&look) {
    auto send = [&] {
        make();
        MPI_Send(out, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
    };
    auto receive = [&] {
        MPI_Recv(in, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        look();
    };
    if (rank == 0) {
        send();
        receive();
    } else {
        receive();
        send();
    }
}

/// The same without a library: word of the message through one line, its data by memcpy from the other's buffer.
void bare_ping_pong(Side &mine, const Side &other, std::vector<char> &buffer, std::size_t bytes, std::uint64_t &turn) {
    auto take = [&] {
        wait_for(other, turn);
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
    std::vector<char> buffer(largest, static_cast<char>(rank)), sent(buffer);
    volatile long sum = 0; // nobody asks for it, but it has to be made
    Side mine;
    mine.data = buffer.data();
    const Side *other = other_side(mine, rank, ranks);
    if (rank == 0)
        std::printf("half a round trip, us\n%10s %10s %10s %10s %10s\n", "bytes", "kept", "written", "back", "limit");
    std::uint64_t turn = 0;
    for (std::size_t bytes = 1; bytes <= largest; bytes *= bytes < 8 ? 8 : 2) {
        int repetitions = static_cast<int>(std::clamp<std::size_t>((4 << 20) / bytes, 4, 2000));
        auto size = static_cast<int>(bytes);
        auto nothing = [] {};
        auto write = [&] {
            for (std::size_t i = 0; i < bytes; i += line_bytes) sent[i]++;
        };
        auto read = [&] {
            for (std::size_t i = 0; i < bytes; i += line_bytes) sum = sum + buffer[i];
        };
        auto show = [](double round_trip) {
            if (rank == 0) std::printf(" %10.3f", round_trip / 2 / 1e3);
        };
        if (rank == 0) std::printf("%10zu", bytes);
        show(fastest(repetitions, [&] { ping_pong(sent.data(), buffer.data(), size, nothing, nothing); }));
        show(fastest(repetitions, [&] { ping_pong(sent.data(), buffer.data(), size, write, read); }));
        show(fastest(repetitions, [&] { ping_pong(buffer.data(), buffer.data(), size, nothing, nothing); }));
        if (other) show(fastest(repetitions, [&] { bare_ping_pong(mine, *other, buffer, bytes, turn); }));
        if (rank == 0) std::printf("\n");
        std::fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
