// SPDX-License-Identifier: BSD-3-Clause
#include "boot/proof/sealed_stream.h"

#include "boot/proof/handshake.h"

#include <gtest/gtest.h>

#include <string>

namespace volley {
namespace {

/// The keys of both ends after a handshake.
struct Ends {
    SessionKeys initiator, responder;
    Ends() {
        Secret secret;
        secret.fill(1);
        const Initiator one(secret, {.protocol = 7});
        const Responder other(secret, one.introduction());
        initiator = one.session_keys(other.answer());
        responder = other.session_keys();
    }
};

TEST(SealedStream, WhatIsSealedAtOneEndIsReadAtTheOther) {
    const Ends ends;
    Sealer sealer(ends.initiator.sends);
    Unsealer unsealer(ends.responder.receives);
    std::string sealed, text;
    const std::string large(200'000, 'x');
    sealer.seal("first", sealed);
    sealer.seal("", sealed);
    sealer.seal(large, sealed);
    EXPECT_EQ(sealed.find("first"), std::string::npos);
    for (const char byte : sealed) ASSERT_TRUE(unsealer.unseal({&byte, 1}, text)); // however it is cut
    EXPECT_EQ(text, "first" + large);
}

TEST(SealedStream, KeysAreOfOneDirectionAndOneConnection) {
    const Ends ends, others;
    EXPECT_NE(ends.initiator.sends, ends.initiator.receives);
    EXPECT_NE(ends.initiator.sends, others.initiator.sends);
    std::string sealed, text;
    Sealer(ends.initiator.sends).seal("order", sealed);
    EXPECT_FALSE(Unsealer(ends.initiator.receives).unseal(sealed, text)); // sent back to where it came from
    EXPECT_FALSE(Unsealer(others.responder.receives).unseal(sealed, text));
    EXPECT_EQ(text, "");
}

TEST(SealedStream, EveryChangedBitIsSeen) {
    const Ends ends;
    std::string sealed;
    Sealer(ends.initiator.sends).seal("order", sealed);
    for (std::size_t bit = 0; bit < 8 * sealed.size(); bit++) {
        std::string changed = sealed, text;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
        Unsealer unsealer(ends.responder.receives);
        const bool is_believed = unsealer.unseal(changed, text) && !text.empty();
        EXPECT_FALSE(is_believed) << bit;
    }
}

TEST(SealedStream, WhatIsRepeatedOrLeftOutIsSeen) {
    const Ends ends;
    Sealer sealer(ends.initiator.sends);
    std::string first, second, third;
    sealer.seal("1", first);
    sealer.seal("2", second);
    sealer.seal("3", third);
    std::string text;
    EXPECT_FALSE(Unsealer(ends.responder.receives).unseal(first + second + second, text));
    EXPECT_EQ(text, "12");
    text.clear();
    EXPECT_FALSE(Unsealer(ends.responder.receives).unseal(first + third, text));
    EXPECT_EQ(text, "1");
}

} // namespace
} // namespace volley
