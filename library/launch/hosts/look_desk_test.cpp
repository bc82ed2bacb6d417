// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/look_desk.h"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>

#include "tools/look_question.h"

namespace volley::launch {
namespace {

using view::LookQuestion;

/// A desk, and what a tool finds in the arena beside it.
class LookDeskTest : public testing::Test {
  protected:
    LookDeskTest() {
        head->node = 3;
        head->look_socket = desk.socket();
        secret.copy(reinterpret_cast<char *>(head->secret), secret_bytes);
    }
    /// Serves until a tool has asked; false if it went without that.
    bool is_asked() {
        for (int rounds = 0; rounds < 100; rounds++) {
            if (desk.advance()) return true;
            std::vector<pollfd> watched;
            desk.watch(watched);
            poll(watched.data(), watched.size(), 10);
        }
        return false;
    }

    const std::string secret = std::string(secret_bytes, 's');
    LookDesk desk{secret, 3};
    std::unique_ptr<ArenaHead> head = std::make_unique<ArenaHead>();
};

TEST_F(LookDeskTest, AToolGetsThePartsOfAllNodes) {
    LookQuestion question(*head, geteuid());
    ASSERT_TRUE(is_asked());
    const std::string much(1 << 20, 'x'); // more than the socket takes at once
    desk.answer(0, much);
    desk.answer(1, "");
    desk.finish();
    std::jthread server([&](const std::stop_token &stop) {
        while (!stop.stop_requested()) {
            desk.advance();
            std::this_thread::yield();
        }
    });
    const auto first = question.next(), second = question.next();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->node, 0);
    EXPECT_EQ(first->text, much);
    EXPECT_EQ(second->node, 1);
    EXPECT_EQ(second->text, "");
    EXPECT_FALSE(question.next());
    EXPECT_TRUE(question.is_complete());
    EXPECT_FALSE(question.is_refused());
}

TEST_F(LookDeskTest, WhoDoesNotKnowTheJobIsTurnedAway) {
    head->secret[0] = 'S';
    LookQuestion stranger(*head, geteuid());
    EXPECT_FALSE(is_asked());
    EXPECT_FALSE(stranger.next());
    EXPECT_TRUE(stranger.is_refused());
    head->secret[0] = 's';
    head->node = 2; // emulated hosts: the same number elsewhere
    LookQuestion neighbour(*head, geteuid());
    EXPECT_FALSE(is_asked());
    EXPECT_TRUE(!neighbour.next() && neighbour.is_refused());
}

TEST_F(LookDeskTest, NobodySpeaksToAnotherUser) {
    LookQuestion question(*head, geteuid() + 1);
    EXPECT_FALSE(is_asked());
    EXPECT_TRUE(!question.next() && question.is_refused());
}

TEST_F(LookDeskTest, AToolThatGoesLeavesNothingForTheNext) {
    { LookQuestion gone(*head, geteuid()); }
    ASSERT_TRUE(is_asked());
    LookQuestion next(*head, geteuid());
    desk.answer(0, "for the first");
    EXPECT_FALSE(is_asked());
    desk.finish();
    ASSERT_TRUE(is_asked());
    desk.answer(0, "for the next");
    desk.finish();
    const auto part = next.next();
    ASSERT_TRUE(part);
    EXPECT_EQ(part->text, "for the next");
}

} // namespace
} // namespace volley::launch
