// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/agreements.h"

#include <gtest/gtest.h>

namespace volley::launch {
namespace {

constexpr std::size_t ranks = 70; // more than a word has bits

RankSet set_of(std::initializer_list<std::size_t> some) {
    RankSet made(ranks);
    for (const std::size_t rank : some) made.add(rank);
    return made;
}

const RankSet members = set_of({2, 5, 69});

Contribution of(std::uint32_t rank, std::uint32_t flag, const RankSet &acknowledged = RankSet(ranks)) {
    return {.context = 8,
            .number = 1,
            .rank = rank,
            .flag = flag,
            .contexts = {rank + 100},
            .members = members,
            .acknowledged = acknowledged};
}

TEST(Agreements, AreDecidedByTheLastContribution) {
    Agreements agreements(ranks);
    EXPECT_FALSE(agreements.contribute(of(5, 6)));
    EXPECT_FALSE(agreements.contribute(of(69, 3)));
    const auto decision = agreements.contribute(of(2, 7));
    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->flag, 2U);
    EXPECT_EQ(decision->is_acknowledged, 1U);
    EXPECT_EQ(decision->contexts[0], 105U);
    EXPECT_EQ(decision->failed.words(), RankSet(ranks).words());
}

TEST(Agreements, AreDecidedByAFailure) {
    Agreements agreements(ranks);
    EXPECT_FALSE(agreements.contribute(of(5, 6)));
    EXPECT_TRUE(agreements.fail({5, 1}).empty());
    EXPECT_FALSE(agreements.contribute(of(69, 3)));
    const auto decided = agreements.fail({2});
    ASSERT_EQ(decided.size(), 1U);
    EXPECT_EQ(decided[0].flag, 2U); // also of one that has failed since
    EXPECT_EQ(decided[0].is_acknowledged, 0U);
    EXPECT_EQ(decided[0].contexts[0], 169U); // of one that lives
    EXPECT_EQ(decided[0].failed.words(), set_of({2, 5}).words());
}

TEST(Agreements, KnowWhichFailuresAllHaveAcknowledged) {
    Agreements agreements(ranks);
    agreements.fail({5});
    agreements.contribute(of(2, 1, set_of({5})));
    EXPECT_EQ(agreements.contribute(of(69, 1, set_of({5})))->is_acknowledged, 1U);
    agreements.contribute(of(2, 1, set_of({5})));
    EXPECT_EQ(agreements.contribute(of(69, 1))->is_acknowledged, 0U);
}

/// What a member has sent may come behind the news of its failure, and behind the decision.
TEST(Agreements, AreNotBegunAgainByOneThatHasFailed) {
    Agreements agreements(ranks);
    agreements.fail({2});
    agreements.contribute(of(5, 1));
    EXPECT_TRUE(agreements.contribute(of(69, 1)));
    EXPECT_FALSE(agreements.contribute(of(2, 1)));
    EXPECT_TRUE(agreements.fail({5, 69}).empty());
}

TEST(Agreements, TravelAsText) {
    const Contribution one = of(5, 6, set_of({69}));
    const auto other = Contribution::decode(one.encode(), ranks);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->rank, 5U);
    EXPECT_EQ(other->contexts, one.contexts);
    EXPECT_EQ(other->members.words(), members.words());
    EXPECT_EQ(other->acknowledged.words(), set_of({69}).words());
    EXPECT_FALSE(Contribution::decode(one.encode(), 200));
    EXPECT_FALSE(Contribution::decode(one.encode() + "x", ranks));
    EXPECT_FALSE(Contribution::decode(of(70, 1).encode(), ranks)); // there is no such rank
}

} // namespace
} // namespace volley::launch
