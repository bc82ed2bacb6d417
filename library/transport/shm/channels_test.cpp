// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/channels.h"

#include "core/test_ranks.h"
#include "transport/shm/shared_memory.h"
#include "transport/shm/test_peer.h"

#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace volley {
namespace {

constexpr int ranks = 40;

struct Peer : SendingPeer {
    using SendingPeer::SendingPeer;
    int received = 0;
};

/// The rings of 39 peers, each of which has sent a message before.
class Channels39 {
  public:
    Channels39() {
        for (int place = 1; place < ranks; place++) peers.push_back(std::make_unique<Peer>(place));
        send(peers);
        round(Look::everywhere);
    }

    static void send(const std::vector<std::unique_ptr<Peer>> &senders) {
        for (auto &peer : senders) EXPECT_TRUE(peer->send_number());
    }

    /// The number of messages that one round finds; those of a peer come in the order in which it sent them.
    int round(Look look) {
        int messages = 0;
        shared_memory.channels.poll(look, [&](ProcessIndex sender, RingReceiver &ring, Slot *slot, bool) {
            int number;
            std::memcpy(&number, ring.payload(slot), sizeof number);
            EXPECT_EQ(slot->source, sender);
            EXPECT_EQ(number, peer(sender).received++);
            (void)ring.release(slot);
            messages++;
            return Channels::Handled::received;
        });
        return messages;
    }

    Peer &peer(int place) {
        return *peers[static_cast<std::size_t>(place - 1)];
    }

    std::vector<std::unique_ptr<Peer>> peers;
};

class ChannelsTest : public RankTest {};

TEST_F(ChannelsTest, ALookEverywhereFindsAllThatHasArrived) {
    in_lone_rank(ranks, [] {
        Channels39 channels;
        std::mt19937 draw(1);
        for (int i = 0; i < 1000; i++) {
            int senders = 0;
            for (auto &peer : channels.peers)
                if (draw() % 3 == 0) senders += peer->send_number();
            EXPECT_EQ(channels.round(Look::everywhere), senders);
        }
    });
}

TEST_F(ChannelsTest, LooksAtActiveRingsFindEveryMessageInTurn) {
    in_lone_rank(ranks, [] {
        Channels39 channels;
        std::mt19937 draw(2);
        for (int i = 0; i < 1000; i++) {
            ASSERT_TRUE(channels.peer(1 + static_cast<int>(draw() % (ranks - 1))).send_number());
            int rounds = 1;
            while (channels.round(Look::active) == 0) ASSERT_LE(++rounds, ranks / 4);
        }
    });
}

TEST_F(ChannelsTest, TheRingsOfTheLastMessagesAreLookedAtInEveryRound) {
    in_lone_rank(ranks, [] {
        Channels39 channels;
        for (int first : {3, 20, 30}) {
            for (int place = first; place < first + 8; place++) {
                EXPECT_TRUE(channels.peer(place).send_number());
                while (channels.round(Look::active) == 0) {}
            }
            for (int i = 0; i < 100; i++) {
                EXPECT_TRUE(channels.peer(first + i % 8).send_number());
                EXPECT_EQ(channels.round(Look::active), 1) << first << ", message " << i;
            }
        }
    });
}

TEST_F(ChannelsTest, AFloodOfSomePeersStarvesNoOther) {
    in_lone_rank(ranks, [] {
        Channels39 channels;
        for (int place = 20; place < ranks; place++) {
            EXPECT_TRUE(channels.peer(place).send_number());
            int rounds = 0;
            while (channels.peer(place).received < channels.peer(place).sent) {
                for (int flooding = 1; flooding < 12; flooding++)
                    while (channels.peer(flooding).send_number()) {}
                channels.round(Look::active);
                ASSERT_LE(++rounds, ranks / 4);
            }
        }
    });
}

/// A program that probes between other work ought not to learn of a message several probes late.
TEST_F(ChannelsTest, AProbeSeesWhatAnyPeerHasSent) {
    in_lone_rank(ranks, [] {
        Channels39 channels;
        for (int place = 1; place < ranks; place++) {
            EXPECT_TRUE(channels.peer(place).send_number());
            int there = 0;
            MPI_Iprobe(place, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
            EXPECT_TRUE(there) << place;
        }
    });
}

} // namespace
} // namespace volley
