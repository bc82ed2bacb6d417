// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/looks.h"

#include <gtest/gtest.h>

#include "boot/look_request.h"

namespace volley::launch {
namespace {

using Nodes = std::vector<std::int32_t>;

class LooksTest : public testing::Test {
  protected:
    Looks looks{3};
    const std::vector<bool> all_there{true, true, true};
    const Clock::time_point start{}, late = start + longest_look;
};

TEST_F(LooksTest, AllButTheHostThatAsksLook) {
    looks.ask(1);
    const auto round = looks.begin(all_there, start);
    ASSERT_TRUE(round);
    EXPECT_EQ(round->nodes, (Nodes{0, 2}));
    EXPECT_EQ(looks.answered(2, round->number), 1);
    EXPECT_FALSE(looks.end(start));
    EXPECT_EQ(looks.answered(0, round->number), 1);
    const auto end = looks.end(start);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->asker, 1);
    EXPECT_EQ(end->silent, Nodes{});
}

TEST_F(LooksTest, QuestionsHaveTheirTurns) {
    looks.ask(0);
    looks.ask(Looks::mpiexec);
    looks.ask(0); // it has asked already
    const auto first = looks.begin(all_there, start);
    ASSERT_TRUE(first);
    EXPECT_FALSE(looks.begin(all_there, start));
    for (const std::int32_t node : first->nodes) looks.answered(node, first->number);
    EXPECT_EQ(looks.end(start)->asker, 0);
    const auto second = looks.begin(all_there, start);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->nodes, (Nodes{0, 1, 2}));
    for (const std::int32_t node : second->nodes) EXPECT_EQ(looks.answered(node, second->number), Looks::mpiexec);
    EXPECT_EQ(looks.end(start)->asker, Looks::mpiexec);
    EXPECT_FALSE(looks.begin(all_there, start));
}

TEST_F(LooksTest, AHostThatStandsStillFindsOneQuestion) {
    looks.ask(0);
    const auto first = looks.begin(all_there, start);
    looks.answered(1, first->number);
    EXPECT_FALSE(looks.end(start));
    EXPECT_EQ(looks.deadline(), late);
    EXPECT_EQ(looks.end(late)->silent, Nodes{2});
    looks.ask(0);
    const auto second = looks.begin(all_there, late);
    EXPECT_EQ(second->nodes, Nodes{1});
    EXPECT_FALSE(looks.answered(2, first->number)); // it goes on, too late for the round
    looks.answered(1, second->number);
    EXPECT_EQ(looks.end(late)->silent, Nodes{2});
    looks.ask(0);
    EXPECT_EQ(looks.begin(all_there, late)->nodes, (Nodes{1, 2}));
}

TEST_F(LooksTest, NobodyIsAskedWhoIsGone) {
    looks.ask(0);
    EXPECT_EQ(looks.begin({true, false, false}, start)->nodes, Nodes{});
    EXPECT_EQ(looks.end(start)->silent, (Nodes{1, 2}));
}

} // namespace
} // namespace volley::launch
