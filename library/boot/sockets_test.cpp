// SPDX-License-Identifier: BSD-3-Clause
#include "boot/sockets.h"

#include "boot/error.h"

#include <gtest/gtest.h>

#include <set>

namespace volley {
namespace {

TEST(PortRange, IsReadAndWritten) {
    const auto range = parse_port_range("50000-50100");
    ASSERT_TRUE(range);
    EXPECT_EQ(range->first, 50000);
    EXPECT_EQ(range->last, 50100);
    EXPECT_EQ(text_of(*range), "50000-50100");
    EXPECT_EQ(parse_port_range("50000:50000")->last, 50000); // as MPICH has it
    EXPECT_TRUE(PortRange{}.is_any());
    EXPECT_EQ(text_of(PortRange{}), "");
}

TEST(PortRange, ThatMeansNothingIsRefused) {
    for (const char *text :
         {"", "50000", "50000-", "-50000", "0-10", "50001-50000", "50000-70000", "a-b", "1-2x", "1 - 2"})
        EXPECT_FALSE(parse_port_range(text)) << text;
}

/// Three ports that nobody has now. Others may take one before the test does: then it takes others.
PortRange free_ports() {
    for (;;) {
        std::uint16_t first = 0;
        const Descriptor any = listen_at(loopback_address(), {}, first);
        if (first > 65000) continue;
        const PortRange range{static_cast<std::uint16_t>(first + 1), static_cast<std::uint16_t>(first + 3)};
        try {
            std::uint16_t port = 0;
            const Descriptor one = listen_at(loopback_address(), {range.first, range.first}, port);
            const Descriptor two = listen_at(loopback_address(), {port, range.last}, port);
            const Descriptor three = listen_at(loopback_address(), range, port);
            return range;
        } catch (const Error &) {} // one of them is somebody's
    }
}

TEST(ListenAt, TakesEachPortOfARangeOnceAndThenSaysThatAllAreInUse) {
    const PortRange range = free_ports();
    std::set<std::uint16_t> ports;
    std::vector<Descriptor> listeners;
    for (int i = 0; i < 3; i++) {
        std::uint16_t port = 0;
        listeners.push_back(listen_at(loopback_address(), range, port));
        EXPECT_GE(port, range.first);
        EXPECT_LE(port, range.last);
        ports.insert(port);
    }
    EXPECT_EQ(ports.size(), 3U);
    std::uint16_t port = 0;
    try {
        listen_at(loopback_address(), range, port);
        FAIL() << "a fourth port of three";
    } catch (const Error &error) {
        const std::string said = error.what();
        EXPECT_NE(said.find("all ports from " + std::to_string(range.first)), std::string::npos) << said;
        EXPECT_NE(said.find("--port-range"), std::string::npos) << said;
    }
    listeners.pop_back();
    EXPECT_TRUE(listen_at(loopback_address(), range, port));
}

TEST(ListenAt, TakesAPortWhoseConnectionsHaveJustEnded) {
    const PortRange range = free_ports();
    const PortRange only{range.first, range.first};
    for (int i = 0; i < 3; i++) {
        std::uint16_t port = 0;
        const Descriptor listener = listen_at(loopback_address(), only, port);
        const Descriptor here = connect_to(loopback_address(), port);
        ASSERT_TRUE(here);
        Descriptor there = accept_from(listener);
        ASSERT_TRUE(there);
        there.reset(); // first: so that this end keeps the port for a while
    }
}

} // namespace
} // namespace volley
