// SPDX-License-Identifier: BSD-3-Clause
#include "wait/descriptors.h"

#include "no_lock.h"
#include "wait/sleep.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <new>

namespace volley {
namespace {

using Clock = std::chrono::steady_clock;

/// A policy that sleeps at the first chance, so that every wait goes through the dangerous part.
constexpr WaitPolicy hasty{.spin_until_ns = 0, .yield_until_ns = 0};
constexpr int rounds = 20000;

/// Two processes and what they share.
struct Pair {
    RankRecord records[2];
    alignas(cache_line) std::atomic<int> turn;
    std::array<int, 2> to_second; ///< a pipe
};

/// Takes turns with the other: each changes memory and wakes. Every fourth word comes through a pipe instead, and
/// nobody wakes. Returns how many waits lasted as long as the time limit.
int take_turns(Pair &pair, int own, FenceKind kind) {
    constexpr int by_pipe = 4;
    constexpr std::uint64_t pipe_key = 7;
    Descriptors &set = descriptors;
    set.open(pair.records[own]);
    if (own == 1) set.add(pair.to_second[0], EPOLLIN, pipe_key);
    int late = 0, read_bytes = 0;
    auto is_turn = [&](int turn) {
        char byte;
        for (const epoll_event &event : set.look())
            if (event.data.u64 == pipe_key) read_bytes += read(pair.to_second[0], &byte, 1) == 1;
        if (own == 1 && turn % (2 * by_pipe) == 1) return read_bytes == turn / (2 * by_pipe) + 1;
        return pair.turn.load(std::memory_order_acquire) == turn;
    };
    for (int turn = own; turn < rounds; turn += 2) {
        auto start = Clock::now();
        for (Wait wait(pair.records[own], hasty, kind); !is_turn(turn);)
            wait.step([&] { return is_turn(turn); }, no_lock);
        late += Clock::now() - start > std::chrono::milliseconds(99);
        pair.turn.store(turn + 1, std::memory_order_release);
        if ((turn + 1) % (2 * by_pipe) == 1)
            late += write(pair.to_second[1], "", 1) == 1 ? 0 : rounds;
        else
            wake(pair.records[1 - own], kind);
    }
    return late;
}

TEST(Descriptors, NoWakeUpIsLostBetweenProcesses) {
    void *memory = mmap(nullptr, sizeof(Pair), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto &pair = *new (memory) Pair{};
    ASSERT_EQ(pipe2(pair.to_second.data(), O_CLOEXEC), 0);
    std::array<pid_t, 2> children{};
    for (int own = 0; own < 2; own++) {
        children[static_cast<std::size_t>(own)] = fork();
        // A machine that stops both for 100 ms at the wrong moment may account for one or two.
        if (children[static_cast<std::size_t>(own)] == 0) _exit(take_turns(pair, own, prepare_fences()) > 2);
    }
    for (pid_t child : children) {
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    for (const RankRecord &record : pair.records) {
        EXPECT_EQ(record.lost_wake_ups.load(), 0U);
        EXPECT_EQ(record.sleeping.load(), 0U);
        EXPECT_NE(record.wake_up_socket.load(), 0U);
    }
    munmap(memory, sizeof(Pair));
}

} // namespace
} // namespace volley
