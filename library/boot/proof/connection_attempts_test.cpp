// SPDX-License-Identifier: BSD-3-Clause
#include "boot/proof/connection_attempts.h"

#include "boot/sockets.h"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/epoll.h>

#include <array>
#include <chrono>
#include <map>
#include <optional>

namespace volley {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Secret secret = {1, 2, 3}, other_secret = {4, 5, 6};
constexpr HandshakeEnds ends = {.protocol = 7, .from_job = 8, .to_job = 8, .from_rank = 0, .to_rank = 1};

/// 127.0.0.N, which is an address of its own for this.
NetworkAddress loopback(unsigned char number) {
    NetworkAddress address = loopback_address();
    address.bytes[3] = number;
    return address;
}

/// Somebody at an address.
struct Someone {
    explicit Someone(unsigned char number) : listener(listen_at(loopback(number), {}, place.port)) {
        place.address = loopback(number);
    }
    /// What the other end of a connection does: proves to know that secret.
    void advance(const Secret &known) {
        if (Descriptor made = accept_from(listener)) {
            responder.emplace(std::move(made));
            accepted++;
        }
        if (!responder) return;
        state = responder->advance([&](const Introduction &introduction) {
            return introduction.secret == name_of(known) ? std::optional(known) : std::nullopt;
        });
        if (state == HandshakeState::refused || state == HandshakeState::closed) responder.reset();
    }

    Place place{};
    Descriptor listener;
    std::optional<ResponderSocket> responder;
    HandshakeState state = HandshakeState::going_on;
    int accepted = 0;
};

class ConnectionAttemptsTest : public testing::Test {
  protected:
    /// `others` act whenever something may have come. Ends when the attempts have.
    HandshakeState connect(std::vector<Place> places, const std::function<void()> &others,
                           std::chrono::milliseconds longest = std::chrono::seconds(5)) {
        const auto watch = [this](int descriptor, std::uint32_t before, std::uint32_t events) {
            EXPECT_EQ(watched_.contains(descriptor) ? watched_.at(descriptor) : 0, before);
            watched_[descriptor] = events;
            if (events == 0) watched_.erase(descriptor);
            return true;
        };
        attempts_.emplace(std::move(places), &preferred_, secret, ends, watch);
        const auto begin = Clock::now();
        HandshakeState state = HandshakeState::going_on;
        while ((state = attempts_->advance()) == HandshakeState::going_on && Clock::now() - begin < longest) {
            others();
            sleep();
        }
        took_ = Clock::now() - begin;
        EXPECT_TRUE(state == HandshakeState::going_on || watched_.empty());
        return state;
    }
    /// Until something is ready that is watched, but not for long, as the others live in the same thread.
    void sleep() const {
        std::vector<pollfd> ready;
        for (const auto &[descriptor, events] : watched_)
            ready.push_back({descriptor, static_cast<short>((events & EPOLLOUT) != 0 ? POLLIN | POLLOUT : POLLIN), 0});
        poll(ready.data(), ready.size(), 2);
    }

    std::atomic<std::uint32_t> preferred_ = 0;
    std::map<int, std::uint32_t> watched_;
    std::optional<ConnectionAttempts> attempts_;
    Clock::duration took_{};
};

TEST_F(ConnectionAttemptsTest, TheOnlyPlaceIsTaken) {
    Someone one(1);
    EXPECT_EQ(connect({one.place}, [&] { one.advance(secret); }), HandshakeState::proven);
    EXPECT_EQ(peer_of(attempts_->take().get()), "127.0.0.1 port " + std::to_string(one.place.port));
    EXPECT_EQ(preferred_, 1U);
}

TEST_F(ConnectionAttemptsTest, WhoRefusesMakesRoomForTheNextAtOnce) {
    Someone gone(1), one(2);
    gone.listener.reset();
    EXPECT_EQ(connect({gone.place, one.place}, [&] { one.advance(secret); }), HandshakeState::proven);
    EXPECT_LT(took_, std::chrono::milliseconds(90));
    EXPECT_EQ(preferred_, 2U);
}

TEST_F(ConnectionAttemptsTest, WhoIsSilentIsPassedOver) {
    Someone silent(1), one(2);
    EXPECT_EQ(connect({silent.place, one.place}, [&] { one.advance(secret); }), HandshakeState::proven);
    EXPECT_GT(took_, std::chrono::milliseconds(900));
    EXPECT_EQ(preferred_, 2U);
}

TEST_F(ConnectionAttemptsTest, WhoWantsAnotherSecretIsPassedOver) {
    Someone wrong(1), one(2);
    EXPECT_EQ(connect({wrong.place, one.place},
                      [&] {
                          wrong.advance(other_secret);
                          one.advance(secret);
                      }),
              HandshakeState::proven);
    EXPECT_LT(took_, std::chrono::milliseconds(900));
    EXPECT_LE(wrong.accepted, 2);
    EXPECT_EQ(preferred_, 2U);
}

TEST_F(ConnectionAttemptsTest, TheLastWinnerComesFirstAndMayTakeItsTime) {
    Someone other(1), one(2);
    preferred_ = 2;
    const std::chrono::milliseconds longest(1500);
    EXPECT_EQ(connect({other.place, one.place}, [] {}, longest), HandshakeState::going_on);
    other.advance(secret);
    EXPECT_EQ(other.accepted, 0);
    one.advance(secret);
    EXPECT_EQ(one.accepted, 1);
}

TEST_F(ConnectionAttemptsTest, TheOthersHearOfNoSecondConnection) {
    Someone slow(1), one(2);
    EXPECT_EQ(connect({slow.place, one.place}, [&] { one.advance(secret); }), HandshakeState::proven);
    for (int times = 0; times < 10; times++) slow.advance(secret);
    EXPECT_EQ(slow.accepted, 1);
    EXPECT_EQ(slow.state, HandshakeState::closed);
}

TEST_F(ConnectionAttemptsTest, IfNobodyIsLeftAllAreNamed) {
    Someone gone(1), wrong(2);
    gone.listener.reset();
    EXPECT_EQ(connect({gone.place, wrong.place}, [&] { wrong.advance(other_secret); }), HandshakeState::closed);
    EXPECT_EQ(wrong.accepted, 16);
    EXPECT_EQ(attempts_->problem(), "cannot connect to 127.0.0.1 port " + std::to_string(gone.place.port) +
                                        " from 127.0.0.1: Connection refused, nor to 127.0.0.2 port " +
                                        std::to_string(wrong.place.port) +
                                        " from 127.0.0.1: it was closed before the other end had said who it is");
    EXPECT_FALSE(attempts_->may_be_filtered());
}

} // namespace
} // namespace volley
