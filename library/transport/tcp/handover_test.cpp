// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/handover.h"

#include "wait/descriptors.h"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>

namespace volley {
namespace {

/// Two connected Unix sockets that never block. Both ends are this process, and ring its doorbell.
class TwoSockets : public testing::Test {
  protected:
    TwoSockets() {
        std::array<int, 2> numbers{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, numbers.data()), 0);
        first = Descriptor(numbers[0]);
        second = Descriptor(numbers[1]);
        EXPECT_TRUE(doorbell.open(0));
    }
    void say(std::array<std::uint64_t, 2> word) {
        EXPECT_EQ(send(first.get(), word.data(), sizeof word, 0), static_cast<ssize_t>(sizeof word));
    }
    std::optional<std::array<std::uint64_t, 2>> heard() {
        std::array<std::uint64_t, 2> word{};
        if (recv(first.get(), word.data(), sizeof word, 0) != static_cast<ssize_t>(sizeof word)) return std::nullopt;
        return word;
    }

    static constexpr std::uint64_t magic = 0x0150'4d45'4d4c'4f56;
    Descriptor first, second;
};

TEST_F(TwoSockets, BothEndsGetMemoryThatCarriesBytes) {
    EXPECT_TRUE(is_on_host(first.get()));
    Handover sender(std::move(first), true), receiver(std::move(second), false);
    EXPECT_EQ(receiver.advance(), HandshakeState::going_on); // nothing is said yet
    EXPECT_EQ(sender.advance(), HandshakeState::going_on);
    EXPECT_EQ(sender.advance(), HandshakeState::going_on);
    EXPECT_EQ(receiver.advance(), HandshakeState::going_on);
    EXPECT_EQ(sender.advance(), HandshakeState::proven);
    EXPECT_EQ(receiver.advance(), HandshakeState::proven);
    const auto from = sender.take_stream(), to = receiver.take_stream();
    ASSERT_TRUE(from && to);
    char out[] = "bytes", in[sizeof out] = "";
    const iovec part{.iov_base = out, .iov_len = sizeof out}, place{.iov_base = in, .iov_len = sizeof in};
    doorbell.look();
    EXPECT_EQ(from->write({&part, 1}), sizeof out);
    EXPECT_TRUE(doorbell.has_rung());
    EXPECT_EQ(to->read({&place, 1}), sizeof in);
    EXPECT_STREQ(in, out);
    EXPECT_TRUE(sender.take_socket() && receiver.take_socket());
}

TEST_F(TwoSockets, WhatCannotBeMappedIsDoneWithout) {
    Handover receiver(std::move(second), false);
    say({magic, 1}); // as a receiver hears it that may have no more descriptors
    EXPECT_EQ(receiver.advance(), HandshakeState::proven);
    EXPECT_EQ(receiver.take_stream(), nullptr);
    EXPECT_EQ(heard(), (std::array<std::uint64_t, 2>{magic, 0}));
}

TEST_F(TwoSockets, ASenderWithoutMemoryIsTakenAsItIs) {
    Handover receiver(std::move(second), false);
    say({magic, 0});
    EXPECT_EQ(receiver.advance(), HandshakeState::proven);
    EXPECT_EQ(receiver.take_stream(), nullptr);
    EXPECT_EQ(heard(), std::nullopt); // it does not wait for an answer
}

TEST_F(TwoSockets, ASenderGoesOnWithoutMemoryIfTheReceiverCannot) {
    Handover sender(std::move(second), true);
    EXPECT_EQ(sender.advance(), HandshakeState::going_on);
    say({magic, 0});
    EXPECT_EQ(sender.advance(), HandshakeState::proven);
    EXPECT_EQ(sender.take_stream(), nullptr);
}

TEST_F(TwoSockets, SomethingElseIsRefusedAndAnEndIsNoticed) {
    Handover receiver(std::move(second), false);
    say({magic + 1, 1});
    EXPECT_EQ(receiver.advance(), HandshakeState::refused);
    first.reset();
    EXPECT_EQ(receiver.advance(), HandshakeState::closed);
}

} // namespace
} // namespace volley
