// SPDX-License-Identifier: BSD-3-Clause
#include "launch/binding.h"

#include <gtest/gtest.h>

namespace volley::launch {
namespace {

using Shares = std::vector<std::vector<int>>;

/// Two packages of two cores with two hardware threads each, numbered as x86 machines do: first threads first.
std::vector<Processor> machine() {
    return {{0, 0, 0}, {1, 0, 1}, {2, 1, 0}, {3, 1, 1}, {4, 0, 0}, {5, 0, 1}, {6, 1, 0}, {7, 1, 1}};
}

TEST(ShareProcessors, WholeCoresWhereThereAreEnough) {
    EXPECT_EQ(share_processors(machine(), 1), (Shares{{0, 4, 1, 5, 2, 6, 3, 7}}));
    EXPECT_EQ(share_processors(machine(), 2), (Shares{{0, 4, 1, 5}, {2, 6, 3, 7}})) << "a package each";
    EXPECT_EQ(share_processors(machine(), 4), (Shares{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST(ShareProcessors, EqualSharesSpreadOverTheMachine) {
    EXPECT_EQ(share_processors(machine(), 3), (Shares{{0, 4}, {1, 5}, {2, 6}}));
}

TEST(ShareProcessors, HardwareThreadsWhereCoresAreFew) {
    EXPECT_EQ(share_processors(machine(), 8), (Shares{{0}, {4}, {1}, {5}, {2}, {6}, {3}, {7}}));
    EXPECT_EQ(share_processors(machine(), 5), (Shares{{0}, {4}, {5}, {2}, {3}}));
}

TEST(ShareProcessors, OfThoseThatAreAllowed) {
    EXPECT_EQ(share_processors({{3, 0, 0}, {9, 0, 4}}, 2), (Shares{{3}, {9}}));
}

} // namespace
} // namespace volley::launch
