// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/pmi.h"

#include <gtest/gtest.h>

namespace volley::pmi {
namespace {

using Hosts = std::vector<std::int32_t>;

TEST(ProcessMapping, BlocksFillTheirHosts) {
    EXPECT_EQ(hosts_of("(vector,(0,2,2))", 4), Hosts({0, 0, 1, 1}));
    EXPECT_EQ(hosts_of("(vector,(0,1,1),(1,1,3))", 4), Hosts({0, 1, 1, 1}));
    EXPECT_EQ(hosts_of("(vector,(0,2,16))", 3), Hosts({0, 0, 0}));
}

TEST(ProcessMapping, BlocksBeginAnew) {
    EXPECT_EQ(hosts_of("(vector,(0,2,1))", 5), Hosts({0, 1, 0, 1, 0}));
    EXPECT_EQ(hosts_of("(vector,(2,1,1),(0,1,2))", 5), Hosts({2, 0, 0, 2, 0}));
}

TEST(ProcessMapping, NothingIsReadFromOtherTexts) {
    for (const char *text : {"", "(vector)", "(vector,", "(vector,(0,1))", "(vector,(0,1,0))", "(vector,(0,0,1))",
                             "(vector,(-1,1,1))", "(vector,(0,1,1)", "(vector,(0,1,1))x", "(vector,(0,1,1)(1,1,1))"})
        EXPECT_EQ(hosts_of(text, 2), std::nullopt) << text;
}

} // namespace
} // namespace volley::pmi
