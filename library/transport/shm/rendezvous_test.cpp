// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/rendezvous.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace volley {
namespace {

TEST(Rendezvous, OneOfManyThatClaimGetsIt) {
    for (int round = 0; round < 50; round++) {
        auto rendezvous = std::make_unique<Rendezvous>();
        std::atomic<int> claims = 0;
        auto contend = [&] { claims += rendezvous->claim(RendezvousState::taken); };
        std::thread receiver(contend);
        contend();
        receiver.join();
        EXPECT_EQ(claims, 1);
    }
}

TEST(Rendezvous, WhatIsTakenCannotBeClaimed) {
    Rendezvous rendezvous{};
    for (auto state : {RendezvousState::taken, RendezvousState::cancelled, RendezvousState::done}) {
        rendezvous.state.store(state);
        EXPECT_FALSE(rendezvous.claim(RendezvousState::pipelining));
        EXPECT_EQ(rendezvous.state.load(), state);
    }
}

TEST(Rendezvous, BothSidesCopyEveryByteOnce) {
    for (std::int64_t bytes : {8191, 16384, 16385, 1000003}) {
        auto rendezvous = std::make_unique<Rendezvous>();
        std::vector<std::atomic<unsigned char>> copied(static_cast<std::size_t>(bytes));
        auto copy = [&] {
            return rendezvous->copy_chunks(bytes, chunk_of(bytes), [&](std::int64_t from, std::int64_t to) {
                for (; from < to; from++) copied[static_cast<std::size_t>(from)]++;
                return true;
            });
        };
        std::int64_t theirs = 0;
        std::thread sender([&] { theirs = copy(); });
        std::int64_t mine = copy();
        sender.join();
        EXPECT_EQ(mine + theirs, bytes);
        EXPECT_TRUE(std::ranges::all_of(copied, [](const auto &times) { return times == 1; })) << bytes;
    }
}

/// The chunk that could not be copied is the other side's, which is told where it begins.
TEST(Rendezvous, AChunkThatIsRefusedIsNotCounted) {
    constexpr std::int64_t bytes = 100000, chunk = 16384;
    Rendezvous rendezvous{};
    std::int64_t first_part =
        rendezvous.copy_chunks(bytes, chunk, [](std::int64_t from, std::int64_t) { return from < 2 * chunk; });
    EXPECT_EQ(first_part, 2 * chunk);
    std::int64_t rest = rendezvous.copy_chunks(bytes, chunk, [](std::int64_t, std::int64_t) { return true; });
    EXPECT_EQ(first_part + chunk + rest, bytes);
}

} // namespace
} // namespace volley
