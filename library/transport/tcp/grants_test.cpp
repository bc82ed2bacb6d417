// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/grants.h"

#include "core/test_job.h"
#include "wait/descriptors.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace volley {
namespace {

constexpr std::uint64_t key = 77;

/// A sender that writes down what it may send.
class Sender final : public GrantedSender {
  public:
    Sender(Grants &grants, ProcessIndex process, Count wanted, std::vector<ProcessIndex> &begun)
        : GrantedSender(process), grants_(grants), number_(process), begun_(begun),
          fetch_{.receive = nullptr, .id = 1, .wanted = wanted} {
        grants.add(*this, fetch_);
    }
    /// What it has been told that it may send, and has not sent.
    Count allowed() const {
        return told_ - sent_;
    }
    void send(Count bytes) {
        sent_ += bytes;
        grants_.arrived(*this, bytes);
    }
    bool is_done() const {
        return sent_ == fetch_.wanted;
    }

  private:
    void tell_granted(Fetch &fetch) override {
        EXPECT_GT(fetch.granted, told_);
        if (told_ == 0) begun_.push_back(number_);
        told_ = fetch.granted;
    }
    void tell_alone(bool is_alone) override {
        is_alone_ = is_alone;
    }
    Grants &grants_;
    bool is_alone_ = false;
    ProcessIndex number_;
    std::vector<ProcessIndex> &begun_;
    Fetch fetch_;
    Count told_ = 0, sent_ = 0;
};

class GrantsTest : public TestJob {
  protected:
    void SetUp() override {
        if (!descriptors.in_use()) descriptors.open(*node.own);
    }
    void add(std::initializer_list<ProcessIndex> processes_in_order, Count wanted) {
        for (ProcessIndex process : processes_in_order)
            senders.push_back(std::make_unique<Sender>(grants, process, wanted, begun));
    }
    Count under_way() const {
        Count all = 0;
        for (auto &sender : senders) all += sender->allowed();
        return all;
    }

    Grants grants{key};
    std::vector<ProcessIndex> begun; ///< in the order in which they might
    std::vector<std::unique_ptr<Sender>> senders;
};

TEST_F(GrantsTest, OneAloneIsNotHeldUp) {
    add({1}, 100'000);
    EXPECT_EQ(senders[0]->allowed(), 100'000);
}

TEST_F(GrantsTest, FewAreUnderWayAtATimeAndAllGetTheirTurn) {
    constexpr Count wanted = 60'000;
    add({7, 6, 5, 4, 3, 1, 0}, wanted);
    EXPECT_EQ(senders[0]->allowed(), wanted); // it was alone when it came
    for (std::size_t i = 1; i < senders.size(); i++) EXPECT_EQ(senders[i]->allowed(), 0) << i;
    senders[0]->send(wanted);
    for (int step = 0; step < 1000 && under_way() > 0; step++) {
        EXPECT_LE(under_way(), 2 * PieceLength::most);
        EXPECT_LE(std::ranges::count_if(senders, [](auto &sender) { return sender->allowed() > 0; }), 2) << step;
        for (auto &sender : senders)
            if (sender->allowed() > 0) {
                sender->send(sender->allowed());
                break;
            }
    }
    for (auto &sender : senders) EXPECT_TRUE(sender->is_done());
}

/// This rank is 2 of 8.
TEST_F(GrantsTest, TurnsGoDownFromThisRank) {
    constexpr Count wanted = PieceLength::first * 2;
    add({4, 0, 7, 1, 3, 5, 6}, wanted);
    while (under_way() > 0)
        for (auto &sender : senders)
            if (sender->allowed() > 0) {
                sender->send(sender->allowed());
                break;
            }
    EXPECT_EQ(begun, (std::vector<ProcessIndex>{4, 3, 1, 0, 7, 6, 5}));
}

TEST_F(GrantsTest, ASenderIsAloneAfterSomeMessagesAndUntilAnotherAnnouncesOne) {
    struct Told final : GrantedSender {
        using GrantedSender::GrantedSender;
        void tell_granted(Fetch &) override {}
        void tell_alone(bool is_alone) override {
            told.push_back(is_alone);
        }
        void announce(Grants &grants) {
            Fetch fetch{.receive = nullptr, .id = 1, .wanted = 1000};
            grants.add(*this, fetch);
            grants.arrived(*this, 1000);
        }
        std::vector<bool> told;
    } one(3), other(4);
    for (int i = 0; i < 20; i++) (i % 4 == 3 ? other : one).announce(grants);
    EXPECT_TRUE(one.told.empty()) << "another one sends as well";
    for (int i = 0; i < 10; i++) one.announce(grants);
    EXPECT_EQ(one.told, std::vector{true});
    other.announce(grants);
    EXPECT_EQ(one.told, (std::vector{true, false}));
    for (int i = 0; i < 10; i++) other.announce(grants);
    EXPECT_EQ(other.told, std::vector{true});
    grants.forget(other);
    one.announce(grants);
    EXPECT_EQ(other.told, std::vector{true}) << "one that has gone is told nothing";
}

TEST_F(GrantsTest, ShortMessagesOfOneSenderGoTogether) {
    add({1}, 400'000);
    Sender &first = *senders[0];
    struct Several final : GrantedSender {
        using GrantedSender::GrantedSender;
        void tell_granted(Fetch &fetch) override {
            told.push_back(fetch.id);
        }
        void tell_alone(bool) override {}
        std::vector<std::uint64_t> told;
    } several(3);
    std::vector<Fetch> fetches;
    fetches.reserve(10);
    for (std::uint64_t id = 1; id <= 10; id++) {
        fetches.push_back({.receive = nullptr, .id = id, .wanted = 1000});
        grants.add(several, fetches.back());
    }
    while (several.told.empty()) first.send(1000);
    EXPECT_EQ(several.told.size(), 10U);
}

/// It may be outside MPI for long.
TEST_F(GrantsTest, ASilentSenderHoldsUpNobodyForLong) {
    add({1, 0, 7}, 1 << 20);
    EXPECT_GT(senders[0]->allowed(), 0);
    EXPECT_EQ(senders[1]->allowed() + senders[2]->allowed(), 0);
    bool has_ended = false;
    while (!has_ended)
        for (const epoll_event &event : descriptors.look())
            if (event.data.u64 == key) has_ended = grants.timer_ended();
    EXPECT_GT(senders[1]->allowed(), 0);
    while (!senders[1]->is_done()) senders[1]->send(senders[1]->allowed());
    EXPECT_GT(senders[2]->allowed(), 0);
    while (!senders[2]->is_done()) senders[2]->send(senders[2]->allowed());
    while (!senders[0]->is_done()) senders[0]->send(senders[0]->allowed());
}

TEST(PieceLengthTest, FollowsTheLine) {
    PieceLength piece;
    std::uint64_t now = 1'000'000'000;
    auto receive = [&](double bytes_per_ns) {
        for (int i = 0; i < 1000; i++) {
            piece.begin(now);
            now += static_cast<std::uint64_t>(static_cast<double>(piece.bytes()) / bytes_per_ns);
            piece.count(piece.bytes(), now);
        }
        return piece.bytes();
    };
    EXPECT_EQ(receive(0.0125), 25'000);          // 100 Mbit/s for 2 ms
    EXPECT_EQ(receive(1.25), PieceLength::most); // 10 Gbit/s
    EXPECT_EQ(receive(0.001), PieceLength::least);
}

} // namespace
} // namespace volley
