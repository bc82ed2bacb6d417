// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/host_card.h"

#include "boot/error.h"
#include "boot/text.h"

#include <gtest/gtest.h>

namespace volley {
namespace {

HostCard some_card() {
    HostCard card;
    card.version = "0.2.0";
    card.build = ~std::uint64_t{0};
    card.identity = 7;
    card.socket = 0xfffff;
    card.public_key = std::string("\0\xff|, ", 5);
    card.addresses = {.name = "n1", .host = "n1", .addresses = {}};
    for (const char *text : {"10.0.0.1/24", "fd00::1/64"}) card.addresses.addresses.push_back(*read_host_address(text));
    card.addresses.addresses.back().comes_last = true;
    return card;
}

TEST(HostCard, IsReadAsItWasWritten) {
    const HostCard card = some_card(), read = HostCard::decode(card.encode());
    EXPECT_EQ(card.encode().find(' '), std::string::npos);
    EXPECT_EQ(read.encode(), card.encode());
    EXPECT_EQ(read.public_key, card.public_key);
    ASSERT_EQ(read.addresses.addresses.size(), 2U);
    EXPECT_EQ(text_of(read.addresses.addresses[1]), "fd00::1/64");
    EXPECT_FALSE(read.addresses.addresses[0].comes_last);
    EXPECT_TRUE(read.addresses.addresses[1].comes_last);
}

TEST(HostCard, OtherTextsAreRefused) {
    const std::string text = some_card().encode();
    for (const std::string &wrong : {std::string(), std::string("volley1") + text.substr(7), text.substr(0, 12),
                                     text + "|10.0.0.1", text + "|10.0.0.1/33", text + "|"})
        EXPECT_THROW(HostCard::decode(wrong), Error) << wrong;
}

TEST(HostCard, LibrariesAreComparedByVersionAndBuild) {
    HostCard one = some_card(), other = some_card();
    EXPECT_NO_THROW(check_same_library(one, other));
    other.build = 0; // not known
    EXPECT_NO_THROW(check_same_library(one, other));
    other.build = 1;
    EXPECT_THROW(check_same_library(one, other), Error);
    other = one;
    other.version = "0.1.0";
    EXPECT_THROW(check_same_library(one, other), Error);
}

TEST(HostCard, AProcessKnowsItsHost) {
    EXPECT_EQ(host_identity(), host_identity());
    EXPECT_TRUE(own_card(1, "", "").addresses.addresses.empty());
    EXPECT_FALSE(own_card(1, "key", "lo").addresses.addresses.empty());
    EXPECT_THROW(own_card(1, "key", "no interface"), Error);
}

TEST(Hexadecimal, IsReadAsItWasWritten) {
    const std::string bytes("\0\x01\x7f\x80\xff", 5);
    EXPECT_EQ(to_hexadecimal(bytes), "00017f80ff");
    EXPECT_EQ(from_hexadecimal("00017f80ff"), bytes);
    EXPECT_EQ(from_hexadecimal("0"), std::nullopt);
    EXPECT_EQ(from_hexadecimal("0g"), std::nullopt);
}

} // namespace
} // namespace volley
