// SPDX-License-Identifier: BSD-3-Clause
#include "boot/addresses.h"

#include "boot/error.h"
#include "boot/sockets.h"

#include <gtest/gtest.h>

namespace volley {
namespace {

/// "eth0 10.1.0.1/24", and "docker0 172.17.0.1/16 last".
HostAddress address(const std::string &text) {
    const auto space = text.find(' '), end = text.find(' ', space + 1);
    HostAddress read = *read_host_address(text.substr(space + 1, end - space - 1));
    read.interface = text.substr(0, space);
    read.comes_last = end != std::string::npos;
    return read;
}

HostAddresses host(const std::string &name, const std::vector<std::string> &texts) {
    HostAddresses made{.name = name, .host = name, .addresses = {}};
    for (const std::string &text : texts) made.addresses.push_back(address(text));
    return made;
}

std::string texts(const std::vector<NetworkAddress> &addresses) {
    std::string all;
    for (const NetworkAddress &one : addresses) all += (all.empty() ? "" : " ") + text_of(one);
    return all;
}

/// The addresses of each host where its ranks take connections.
std::vector<std::string> chosen(const std::vector<HostAddresses> &hosts, const std::string &interface = "") {
    std::vector<std::string> all;
    for (const auto &addresses : addresses_for_ranks(hosts, interface)) {
        std::vector<NetworkAddress> plain;
        for (const HostAddress &one : addresses) plain.push_back(one.address);
        all.push_back(texts(plain));
    }
    return all;
}

using Chosen = std::vector<std::string>;

TEST(Addresses, NetworksThatAllHostsHaveInCommonComeFirst) {
    const std::vector<HostAddresses> hosts = {
        host("a", {"lo 127.0.0.1/8", "eth0 192.168.1.5/24", "eth1 10.2.0.1/16", "eth2 10.1.0.1/24"}),
        host("b", {"lo 127.0.0.1/8", "eth0 192.168.2.5/24", "eth1 10.2.0.2/16", "eth2 10.1.0.2/24"}),
        host("c", {"lo 127.0.0.1/8", "eth0 192.168.3.5/24", "eth2 10.1.0.3/24"})};
    EXPECT_EQ(chosen(hosts),
              (Chosen{"10.1.0.1 10.2.0.1 192.168.1.5", "10.1.0.2 10.2.0.2 192.168.2.5", "10.1.0.3 192.168.3.5"}));
    EXPECT_EQ(chosen(hosts, "eth0"), (Chosen{"192.168.1.5", "192.168.2.5", "192.168.3.5"}));
    EXPECT_EQ(chosen(hosts, "10.1.0.0/24"), (Chosen{"10.1.0.1", "10.1.0.2", "10.1.0.3"}));
    EXPECT_THROW(chosen(hosts, "eth1"), Error);
    EXPECT_THROW(chosen(hosts, "10.2.0.0/16"), Error);
}

TEST(Addresses, BridgesAndTunnelsComeLast) {
    EXPECT_EQ(chosen({host("a", {"docker0 172.18.0.1/16 last", "eth0 10.1.0.1/24"}),
                      host("b", {"docker0 172.18.0.2/16 last", "eth0 10.1.1.1/24"})}),
              (Chosen{"10.1.0.1 172.18.0.1", "10.1.1.1 172.18.0.2"}));
}

TEST(Addresses, WhatAllHostsHaveIsNoAddress) {
    EXPECT_EQ(chosen({host("a", {"docker0 172.17.0.1/16 last", "eth0 10.1.0.1/24"}),
                      host("b", {"docker0 172.17.0.1/16 last", "eth0 10.1.0.2/24"})}),
              (Chosen{"10.1.0.1", "10.1.0.2"}));
    EXPECT_THROW(chosen({host("a", {"eth0 10.1.0.1/24"}), host("b", {"eth0 10.1.0.1/24"})}), Error);
    EXPECT_THROW(chosen({host("a", {"lo 127.0.0.1/8"}), host("b", {"eth0 10.1.0.2/24"})}), Error);
}

TEST(Addresses, NoMoreThanSomeOfAHostAreTaken) {
    std::vector<std::string> many;
    for (int number = 1; number < 20; number++)
        many.push_back("eth" + std::to_string(number) + " 10." + std::to_string(number) + ".0.1/16");
    EXPECT_EQ(chosen({host("a", many), host("b", {"eth0 10.7.0.2/16"})}),
              (Chosen{"10.7.0.1 10.1.0.1 10.2.0.1 10.3.0.1", "10.7.0.2"}));
}

TEST(Addresses, HostsThatAreOneMachineMeetThere) {
    HostAddresses one = host("a", {"lo 127.0.0.1/8", "eth0 10.1.0.1/24"}), other = one;
    other.name = "localhost";
    EXPECT_EQ(chosen({one, other}), (Chosen{"10.1.0.1 127.0.0.1", "10.1.0.1 127.0.0.1"}));
}

TEST(Addresses, AreTriedInTheOrderOfWhatTwoHostsHaveInCommon) {
    const std::vector<HostAddress> own = {address("eth0 10.1.0.1/24"), address("eth1 10.2.0.1/16"),
                                          address("docker0 172.17.0.1/16 last")};
    const std::vector<HostAddress> other = {address("docker0 172.17.0.1/16 last"), address("br0 10.2.0.9/16 last"),
                                            address("tun0 10.8.0.2/24 last"), address("eth5 192.168.3.5/24"),
                                            address("eth1 10.2.0.2/16")};
    EXPECT_EQ(texts(in_order_of_trial(own, other)), "10.2.0.2 192.168.3.5 10.2.0.9 10.8.0.2 172.17.0.1");
    EXPECT_EQ(texts(in_order_of_trial(own, own)), "10.1.0.1 10.2.0.1 172.17.0.1");
}

TEST(Addresses, OfThisHostEndWithLoopback) {
    const auto own = own_addresses();
    ASSERT_FALSE(own.empty());
    EXPECT_EQ(own.back().interface, "lo");
    for (const HostAddress &one : own_addresses("lo")) EXPECT_EQ(one.interface, "lo");
}

} // namespace
} // namespace volley
