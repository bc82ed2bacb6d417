// SPDX-License-Identifier: BSD-3-Clause
#include "cpus.h"

#include <gtest/gtest.h>

namespace volley {
namespace {

TEST(Cpus, WhatOneRankMayUseIsWhatItsListSays) {
    const UsableTogether together = usable_together({allowed_list()});
    EXPECT_EQ(together.cpus, usable_cpus());
    EXPECT_EQ(together.cores, allowed_cores());
}

TEST(Cpus, RanksBoundToTheSameProcessorHaveOne) {
    const UsableTogether together = usable_together({"0", "0", "0-0"});
    EXPECT_EQ(together.cpus, 1u);
    EXPECT_EQ(together.cores, 1u);
}

TEST(Cpus, RanksBoundToDifferentProcessorsHaveThemAll) {
    // So many that no machine has them: processors the system does not know are cores of their own.
    EXPECT_EQ(usable_together({"60001", "60002-60004,60009", "60002"}).cores, 5u);
}

TEST(Cpus, WhatIsNoListIsLeftOut) {
    EXPECT_EQ(usable_together({"?", "", "60001"}).cores, 1u);
    EXPECT_EQ(usable_together({}).cpus, 1u);
}

} // namespace
} // namespace volley
