// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/in_place.h"

#include <gtest/gtest.h>

namespace volley {
namespace {

/// Sends messages of which those that stay are found quick or not; returns how many stayed.
int staying(InPlace &in_place, int messages, bool quick) {
    int stayed = 0;
    for (int i = 0; i < messages; i++) {
        if (in_place.stays()) {
            stayed++;
            if (in_place.is_watched()) in_place.learn(quick);
        }
        in_place.count(4096);
    }
    return stayed;
}

TEST(InPlace, ProgramsThatWriteTheirBuffersAgainPayForFewTries) {
    InPlace in_place;
    EXPECT_LT(staying(in_place, 1000, false), 50);
    EXPECT_LT(staying(in_place, 100'000, false), 300);
}

TEST(InPlace, ABufferThatIsNotWrittenAgainSoonStaysForGood) {
    InPlace in_place;
    EXPECT_GT(staying(in_place, 1000, true), 950);
    EXPECT_EQ(staying(in_place, 1000, true), 1000);
}

TEST(InPlace, AProgramMayChangeItsWaysAndChangeThemBack) {
    InPlace in_place;
    staying(in_place, 1000, true);
    EXPECT_LT(staying(in_place, 1000, false), 100);
    EXPECT_GT(staying(in_place, 1000, true), 500);
}

TEST(InPlace, AReceiverThatIsLateIsWaitedForOncePerRound) {
    InPlace in_place;
    staying(in_place, 1000, true);
    int waits = 0;
    for (int i = 0; i < 100'000; i++) {
        bool stays = in_place.stays();
        in_place.count(4096);
        if (!stays) continue;
        waits++;
        in_place.late();
    }
    EXPECT_GT(waits, 5) << "it may come in time again";
    EXPECT_LT(waits, 40);
}

TEST(InPlace, TwoThatTryAtDifferentTimesComeToTryTogether) {
    InPlace one, other;
    for (int i = 0; i < 20; i++) other.count(4096); // ahead by so many
    int together = 0, tried = 0;
    auto send = [](InPlace &sender, InPlace &receiver) {
        bool stays = sender.stays();
        if (stays) receiver.join();
        if (stays && sender.is_watched()) sender.learn(false);
        sender.count(4096);
        return stays;
    };
    for (int i = 0; i < 10'000; i++) { // there and back
        bool stays = send(one, other), too = send(other, one);
        together += stays && too;
        tried += stays;
    }
    EXPECT_GT(together, 5);
    EXPECT_LT(tried, 200) << "who joins does not keep the other trying";
}

TEST(LinePace, QuickIsLessThanHalfOfWhatOthersLinesTake) {
    LinePace pace(50);
    auto last = [](std::uint64_t ticks) {
        return [ticks] {
            for (std::uint64_t began = clock_ticks(); clock_ticks() - began < ticks;) {}
        };
    };
    EXPECT_FALSE(pace.is_quick(4096, last(1))) << "nothing to compare with";
    for (int i = 0; i < 64; i++) pace.watch(4096, last(1'000'000));
    EXPECT_TRUE(pace.is_quick(4096, last(1)));
    EXPECT_FALSE(pace.is_quick(4096, last(900'000)));
    EXPECT_TRUE(pace.is_quick(4 * 4096, last(900'000))) << "it is time per byte that counts";
}

} // namespace
} // namespace volley
