// SPDX-License-Identifier: BSD-3-Clause
#include "boot/named_ranks.h"

#include "boot/error.h"

#include <gtest/gtest.h>

namespace volley {
namespace {

TEST(NamedRanks, AreReadAndWritten) {
    const auto sets = parse_named_ranks("ocean=0-3,6;app://ice=5,4,4");
    ASSERT_EQ(sets.size(), 2U);
    EXPECT_EQ(sets[0].name, "ocean");
    EXPECT_EQ(sets[0].ranks, (std::vector{0, 1, 2, 3, 6}));
    EXPECT_EQ(sets[1].name, "app://ice");
    EXPECT_EQ(sets[1].ranks, (std::vector{4, 5}));
    EXPECT_EQ(text_of(sets), "ocean=0,1,2,3,6;app://ice=4,5");
    EXPECT_TRUE(parse_named_ranks("").empty());
}

TEST(NamedRanks, ThatMeanNothingAreRefused) {
    for (const char *text : {"ocean", "ocean=", "=1", "ocean=1-", "ocean=x", "ocean=3-1", "ocean=-1", "ocean=1,,2",
                             "ocean=1;ocean=2", "mpi://WORLD=0", ";", "ocean=99999999999"})
        EXPECT_THROW(parse_named_ranks(text), Error) << text;
}

} // namespace
} // namespace volley
