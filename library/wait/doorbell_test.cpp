// SPDX-License-Identifier: BSD-3-Clause
#include "wait/doorbell.h"

#include "no_lock.h"
#include "wait/descriptors.h"
#include "wait/sleep.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <new>
#include <string>

namespace volley {
namespace {

using Clock = std::chrono::steady_clock;

/// A policy that sleeps at the first chance, so that every wait goes through the dangerous part.
constexpr WaitPolicy hasty{.spin_until_ns = 0, .yield_until_ns = 0};
constexpr int rounds = 20000;

/// Two processes, each with a record that the other does not touch.
struct Pair {
    RankRecord records[2];
    std::atomic<pid_t> processes[2];
    std::atomic<int> doorbells[2]; ///< descriptors, each in its own process; 0: not there yet
    alignas(cache_line) std::atomic<int> turn;
};

/// Maps the doorbell of the other process.
OtherDoorbell find(const Pair &pair, int other) {
    while (pair.doorbells[other].load() == 0) usleep(1000);
    const std::string path =
        "/proc/" + std::to_string(pair.processes[other].load()) + "/fd/" + std::to_string(pair.doorbells[other].load());
    return OtherDoorbell(Descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC)));
}

/// Takes turns with the other. Returns how many waits lasted as long as the time limit.
int take_turns(Pair &pair, int own) {
    static Doorbell &mine = *new Doorbell;
    descriptors.open(pair.records[own]);
    if (!mine.open(pair.records[own].wake_up_socket)) return rounds;
    pair.processes[own] = getpid();
    pair.doorbells[own] = mine.file().get();
    const OtherDoorbell other = find(pair, 1 - own);
    if (!other) return rounds;
    int late = 0, seen = -1;
    auto is_turn = [&](int turn) {
        if (mine.has_rung()) {
            mine.look();
            seen = pair.turn.load(std::memory_order_relaxed);
        }
        return seen == turn;
    };
    for (int turn = own; turn < rounds; turn += 2) {
        auto start = Clock::now();
        if (turn > 0)
            for (Wait wait(pair.records[own], hasty, FenceKind::sender); !is_turn(turn);)
                wait.step([&] { return is_turn(turn); }, no_lock);
        late += Clock::now() - start > std::chrono::milliseconds(99);
        pair.turn.store(turn + 1, std::memory_order_relaxed);
        other.ring();
    }
    return late;
}

TEST(Doorbell, NoWakeUpIsLostBetweenProcesses) {
    void *memory = mmap(nullptr, sizeof(Pair), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto &pair = *new (memory) Pair{};
    std::array<pid_t, 2> children{};
    for (int own = 0; own < 2; own++) {
        children[static_cast<std::size_t>(own)] = fork();
        // A machine that stops both for 100 ms at the wrong moment may account for one or two.
        if (children[static_cast<std::size_t>(own)] == 0) _exit(take_turns(pair, own) > 2);
    }
    for (pid_t child : children) {
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    for (const RankRecord &record : pair.records) EXPECT_EQ(record.lost_wake_ups.load(), 0U);
    munmap(memory, sizeof(Pair));
}

TEST(Doorbell, TellsOnceThatSomebodyHasRung) {
    descriptors.open_to_wake();
    Descriptor file;
    const SealedMemory memory = SealedMemory::make("test", sizeof(DoorbellPage), file);
    const OtherDoorbell other(file);
    ASSERT_TRUE(other);
    auto &page = *reinterpret_cast<DoorbellPage *>(memory.address());
    page.is_asleep = 1;
    other.ring();
    EXPECT_EQ(page.is_asleep.load(), 0U); // by the first who rings
    other.ring();
    EXPECT_EQ(page.rings.load(), 2U);
}

TEST(Doorbell, IsNothingElseThanSealedMemory) {
    const Descriptor unsealed(memfd_create("test", MFD_CLOEXEC));
    ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
    EXPECT_FALSE(OtherDoorbell(unsealed));
    Descriptor small;
    ASSERT_TRUE(SealedMemory::make("test", 8, small));
    EXPECT_FALSE(OtherDoorbell(small));
    EXPECT_FALSE(OtherDoorbell(Descriptor()));
}

} // namespace
} // namespace volley
