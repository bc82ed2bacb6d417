// SPDX-License-Identifier: BSD-3-Clause
#include "boot/proof/handshake.h"

#include "boot/proof/handshake_socket.h"
#include "boot/proof/key_exchange.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <string>

namespace volley {
namespace {

constexpr HandshakeEnds ends = {.protocol = 7, .from_job = 1, .to_job = 1, .from_rank = 2, .to_rank = 3};

Secret secret_of(unsigned char byte) {
    Secret secret;
    secret.fill(byte);
    return secret;
}

const Secret known = secret_of(1), other = secret_of(2);

/// The initiator is at one end of a connection, the test at the other.
struct Pair {
    Descriptor initiator, responder;
    Pair() {
        int both[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both), 0);
        initiator = Descriptor(both[0]);
        responder = Descriptor(both[1]);
    }
};

std::optional<Secret> find_known(const Introduction &introduction) {
    return are_equal(introduction.secret, name_of(known)) ? std::optional(known) : std::nullopt;
}

void write(const Descriptor &socket, const void *bytes, std::size_t count) {
    ASSERT_EQ(send(socket.get(), bytes, count, MSG_NOSIGNAL), static_cast<ssize_t>(count));
}

TEST(Handshake, BothWhoKnowTheSecretProveIt) {
    const Initiator initiator(known, ends);
    const Responder responder(known, initiator.introduction());
    const auto proof = initiator.prove(responder.answer());
    ASSERT_TRUE(proof);
    EXPECT_TRUE(responder.accepts(*proof));
}

TEST(Handshake, NeitherSideBelievesWhoDoesNotKnowTheSecret) {
    const Initiator initiator(known, ends);
    EXPECT_FALSE(initiator.prove(Responder(other, initiator.introduction()).answer()));
    const Initiator stranger(other, ends);
    const auto proof = stranger.prove(Responder(other, stranger.introduction()).answer());
    ASSERT_TRUE(proof);
    EXPECT_FALSE(Responder(known, stranger.introduction()).accepts(*proof));
}

TEST(Handshake, WhatWasRecordedIsOfNoUseAgain) {
    const Initiator initiator(known, ends);
    const Responder first(known, initiator.introduction()), second(known, initiator.introduction());
    const auto proof = initiator.prove(first.answer());
    EXPECT_FALSE(second.accepts(*proof));
    EXPECT_FALSE(Initiator(known, ends).prove(first.answer()));
}

TEST(Handshake, AProofIsForTheseEndsAndThisSide) {
    const Initiator initiator(known, ends);
    const Responder responder(known, initiator.introduction());
    EXPECT_FALSE(responder.accepts(responder.answer().proof));
    for (int field = 0; field < 5; field++) {
        Introduction changed = initiator.introduction();
        if (field == 0) changed.ends.protocol++;
        if (field == 1) changed.ends.from_job++;
        if (field == 2) changed.ends.to_job++;
        if (field == 3) changed.ends.from_rank++;
        if (field == 4) changed.ends.to_rank++;
        EXPECT_FALSE(initiator.prove(Responder(known, changed).answer())) << field;
    }
}

TEST(Handshake, EachWrongByteOfAnAnswerAndOfAProofIsSeen) {
    const Initiator initiator(known, ends);
    const Responder responder(known, initiator.introduction());
    for (std::size_t byte = 0; byte < sizeof(Answer); byte++) {
        Answer answer = responder.answer();
        reinterpret_cast<unsigned char *>(&answer)[byte] ^= 1;
        EXPECT_FALSE(initiator.prove(answer)) << byte;
    }
    for (std::size_t byte = 0; byte < proof_bytes; byte++) {
        Proof proof = *initiator.prove(responder.answer());
        proof[byte] ^= 0x80;
        EXPECT_FALSE(responder.accepts(proof)) << byte;
    }
}

TEST(Handshake, TheSecretDoesNotGoOverTheWire) {
    const Initiator initiator(known, ends);
    const auto *bytes = reinterpret_cast<const char *>(&initiator.introduction());
    const std::string run(8, static_cast<char>(known[0]));
    EXPECT_EQ(std::string(bytes, sizeof(Introduction)).find(run), std::string::npos);
}

TEST(HandshakeSocket, SocketsAreProvenAndNothingBeyondIsRead) {
    Pair pair;
    InitiatorSocket initiator(std::move(pair.initiator), known, ends);
    ResponderSocket responder(std::move(pair.responder));
    EXPECT_EQ(responder.advance(find_known), HandshakeState::going_on);
    EXPECT_EQ(initiator.advance(), HandshakeState::going_on);
    EXPECT_FALSE(responder.is_answered());
    EXPECT_EQ(responder.advance(find_known), HandshakeState::going_on);
    EXPECT_TRUE(responder.is_answered());
    EXPECT_EQ(responder.ends(), ends);
    EXPECT_EQ(initiator.advance(), HandshakeState::proven);
    const Descriptor sender = initiator.take();
    write(sender, "x", 1);
    EXPECT_EQ(responder.advance(find_known), HandshakeState::proven);
    char byte = 0;
    EXPECT_EQ(recv(responder.take().get(), &byte, 1, 0), 1);
    EXPECT_EQ(byte, 'x');
}

TEST(HandshakeSocket, PiecesOfAnyLengthWillDo) {
    Pair pair;
    const Initiator initiator(known, ends);
    ResponderSocket responder(std::move(pair.responder));
    const auto *bytes = reinterpret_cast<const unsigned char *>(&initiator.introduction());
    for (std::size_t i = 0; i < sizeof(Introduction); i++) {
        EXPECT_EQ(responder.advance(find_known), HandshakeState::going_on);
        EXPECT_FALSE(responder.is_answered());
        write(pair.initiator, bytes + i, 1);
    }
    EXPECT_EQ(responder.advance(find_known), HandshakeState::going_on);
    Answer answer;
    ASSERT_EQ(recv(pair.initiator.get(), &answer, sizeof answer, 0), static_cast<ssize_t>(sizeof answer));
    const Proof proof = *initiator.prove(answer);
    write(pair.initiator, proof.data(), 1);
    EXPECT_EQ(responder.advance(find_known), HandshakeState::going_on);
    write(pair.initiator, proof.data() + 1, proof_bytes - 1);
    EXPECT_EQ(responder.advance(find_known), HandshakeState::proven);
}

TEST(HandshakeSocket, AFirstWrongByteIsRefusedWithoutAnAnswer) {
    Pair pair;
    ResponderSocket responder(std::move(pair.responder));
    write(pair.initiator, "G", 1);
    EXPECT_EQ(responder.advance(find_known), HandshakeState::refused);
    char byte = 0;
    EXPECT_LT(recv(pair.initiator.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST(HandshakeSocket, AnEndThatClosesIsNotRefused) {
    Pair pair;
    ResponderSocket responder(std::move(pair.responder));
    pair.initiator.reset();
    EXPECT_EQ(responder.advance(find_known), HandshakeState::closed);
    Pair second;
    InitiatorSocket initiator(std::move(second.initiator), known, ends);
    EXPECT_EQ(initiator.advance(), HandshakeState::going_on);
    second.responder.reset();
    EXPECT_EQ(initiator.advance(), HandshakeState::closed);
}

TEST(HandshakeSocket, AnImpostorIsRefused) {
    Pair pair;
    InitiatorSocket initiator(std::move(pair.initiator), known, ends);
    EXPECT_EQ(initiator.advance(), HandshakeState::going_on);
    const std::string nonsense(sizeof(Answer), 'n');
    write(pair.responder, nonsense.data(), nonsense.size());
    EXPECT_EQ(initiator.advance(), HandshakeState::refused);
}

TEST(KeyExchange, BothSidesGetOneSecret) {
    const KeyExchange one, other_keys;
    Secret here, there, third;
    ASSERT_TRUE(one.agree(other_keys.public_key(), true, here));
    ASSERT_TRUE(other_keys.agree(one.public_key(), false, there));
    EXPECT_EQ(here, there);
    ASSERT_TRUE(KeyExchange().agree(one.public_key(), false, third));
    EXPECT_NE(here, third);
    EXPECT_FALSE(one.agree(PublicKey{}, true, third));
}

TEST(Seal, OnlyTheKeysOwnerOpensIt) {
    const SealKey key, another;
    const std::string text(secret_bytes, 'x'), sealed = seal(text, key.public_key());
    EXPECT_EQ(sealed.find(text), std::string::npos);
    EXPECT_EQ(key.open(sealed), text);
    EXPECT_EQ(another.open(sealed), std::nullopt);
    for (std::size_t at = 0; at < sealed.size(); at++) {
        std::string changed = sealed;
        changed[at] ^= 1;
        EXPECT_EQ(key.open(changed), std::nullopt) << at;
    }
    EXPECT_EQ(key.open(sealed.substr(0, 20)), std::nullopt);
}

} // namespace
} // namespace volley
