// SPDX-License-Identifier: BSD-3-Clause
/// The sending half of SharedMemory. The tests do in memory what the receiver would do.
#include "core/test_ranks.h"
#include "transport/shm/rendezvous.h"
#include "transport/shm/shared_memory.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace volley {
namespace {

constexpr int receiver = 1;
constexpr int large = 1 << 21; ///< bytes; larger than what goes through the ring or the arena by itself

/// The receiver's half of the ring from rank 0.
class ReceivingPeer {
  public:
    /// Precondition: rank 0 has sent it something.
    ReceivingPeer() {
        std::uint64_t at = node.inbox(receiver)->ring(static_cast<std::size_t>(node.place())).load();
        if (at != 0) ring_ = RingReceiver(arena_pointer<RingHead>(at));
    }

    bool has_message() const {
        return ring_.front() != nullptr;
    }
    /// Takes an eager message that is a number.
    int take_number() {
        Slot *slot = ring_.front();
        int number = -1;
        std::memcpy(&number, ring_.payload(slot), sizeof number);
        (void)ring_.release(slot);
        return number;
    }
    /// Takes a request to send.
    Rendezvous &take_request() {
        Slot *slot = ring_.front();
        EXPECT_EQ(slot->kind(), MessageKind::request);
        auto *rendezvous = arena_pointer<Rendezvous>(slot->request.rendezvous);
        (void)ring_.release(slot);
        return *rendezvous;
    }
    /// Says that it is done, as receivers do: by the state alone, or by the sender's list.
    static void finish(Rendezvous &rendezvous) {
        SharedMemory::release(rendezvous);
    }

  private:
    RingReceiver ring_;
};

class SendTest : public RankTest {
  protected:
    static bool is_complete(MPI_Request &request, MPI_Status *status = MPI_STATUS_IGNORE) {
        int flag = 0;
        MPI_Test(&request, &flag, status);
        return flag != 0;
    }
    static MPI_Request start(const std::vector<char> &data) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_CHAR, receiver, 0, MPI_COMM_WORLD, &request);
        return request;
    }
};

TEST_F(SendTest, WhatFindsNoRoomFollowsInOrder) {
    in_lone_rank(2, [] {
        std::vector<int> numbers;
        std::vector<MPI_Request> requests;
        for (int i = 0; i < 100'000; i++) numbers.push_back(i);
        for (int &number : numbers) {
            requests.emplace_back();
            MPI_Isend(&number, 1, MPI_INT, receiver, 0, MPI_COMM_WORLD, &requests.back());
            if (!shared_memory.all_placed() && requests.size() % 1000 == 0) break;
        }
        ASSERT_FALSE(shared_memory.all_placed());
        EXPECT_FALSE(is_complete(requests.back()));
        ReceivingPeer peer;
        for (int next = 0; next < static_cast<int>(requests.size()); next++) {
            // What has room follows in a round of the sender's progress.
            for (int rounds = 0; !peer.has_message() && rounds < 3; rounds++) is_complete(requests.back());
            ASSERT_TRUE(peer.has_message()) << next;
            EXPECT_EQ(peer.take_number(), next);
        }
        EXPECT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_TRUE(shared_memory.all_placed());
    });
}

TEST_F(SendTest, ABlockingSendDoesNotWaitForALateReceiver) {
    in_lone_rank(2, [] {
        std::vector<char> data(500'000, 'a');
        MPI_Send(data.data(), static_cast<int>(data.size()), MPI_CHAR, receiver, 0, MPI_COMM_WORLD);
        std::ranges::fill(data, 'b'); // it is the program's again
        Rendezvous &rendezvous = ReceivingPeer().take_request();
        ASSERT_EQ(rendezvous.state.load(), RendezvousState::buffered);
        ASSERT_EQ(rendezvous.bytes, 500'000);
        const char *block = reinterpret_cast<const char *>(rendezvous.block);
        EXPECT_EQ(std::count(block, block + rendezvous.bytes, 'a'), rendezvous.bytes);
        EXPECT_TRUE(shared_memory.all_delivered());
    });
}

TEST_F(SendTest, WhatTheReceiverHasClaimedStaysInItsBufferUntilItIsDone) {
    in_lone_rank(2, [] {
        std::vector<char> data(large, 'a');
        MPI_Request request = start(data);
        Rendezvous &rendezvous = ReceivingPeer().take_request();
        EXPECT_EQ(reinterpret_cast<const char *>(rendezvous.address), data.data());
        ASSERT_TRUE(rendezvous.claim(RendezvousState::taken));
        EXPECT_FALSE(is_complete(request));
        EXPECT_EQ(rendezvous.state.load(), RendezvousState::taken);
        ReceivingPeer::finish(rendezvous);
        EXPECT_TRUE(is_complete(request));
    });
}

TEST_F(SendTest, TheSenderCopiesItsShare) {
    in_lone_rank(2, [] {
        std::vector<char> data(large, 'a'), received(large, 'b');
        MPI_Request request = start(data);
        Rendezvous &rendezvous = ReceivingPeer().take_request();
        ASSERT_TRUE(rendezvous.claim(RendezvousState::taken));
        rendezvous.to_address = reinterpret_cast<std::uint64_t>(received.data());
        rendezvous.to_plan = 0;
        rendezvous.to_count = 0;
        rendezvous.to_bytes = large - 1; // the receiver's buffer is one byte short
        rendezvous.state.store(RendezvousState::shared);
        EXPECT_FALSE(is_complete(request));
        EXPECT_EQ(rendezvous.copied.load(), large - 1);
        EXPECT_EQ(std::ranges::count(received, 'a'), large - 1);
        EXPECT_EQ(received.back(), 'b');
        ReceivingPeer::finish(rendezvous);
        EXPECT_TRUE(is_complete(request));
    });
}

TEST_F(SendTest, OnlyWhatNobodyHasClaimedCanBeCancelled) {
    in_lone_rank(2, [] {
        std::vector<char> data(large);
        MPI_Request requests[] = {start(data), start(data)};
        ReceivingPeer peer;
        Rendezvous &first = peer.take_request(), &second = peer.take_request();
        ASSERT_TRUE(first.claim(RendezvousState::taken));
        for (int i : {0, 1}) {
            MPI_Cancel(&requests[i]);
            EXPECT_EQ(is_complete(requests[i]), i == 1);
        }
        EXPECT_EQ(first.state.load(), RendezvousState::taken);
        EXPECT_EQ(second.state.load(), RendezvousState::cancelled);
        ReceivingPeer::finish(first);
        ReceivingPeer::finish(second);
        MPI_Status status;
        EXPECT_TRUE(is_complete(requests[0], &status));
        int cancelled = 1;
        MPI_Test_cancelled(&status, &cancelled);
        EXPECT_FALSE(cancelled);
    });
}

/// A sender looks at a few of its outstanding sends. Of the others it is told, in whatever order they end.
TEST_F(SendTest, ManyOutstandingSendsEndInAnyOrder) {
    in_lone_rank(2, [] {
        constexpr std::size_t sends = 60;
        std::vector<char> data(large);
        std::vector<MPI_Request> requests;
        std::vector<Rendezvous *> outstanding;
        std::optional<ReceivingPeer> peer;
        std::size_t that_notify = 0;
        for (std::size_t i = 0; i < sends; i++) {
            requests.push_back(start(data));
            if (!peer) peer.emplace();
            outstanding.push_back(&peer->take_request());
            that_notify += outstanding.back()->notifies;
        }
        EXPECT_GT(that_notify, 0U);
        EXPECT_LT(that_notify, sends);
        for (std::size_t i = sends; i-- > 0;) {
            EXPECT_FALSE(is_complete(requests[i]));
            ASSERT_TRUE(outstanding[i]->claim(RendezvousState::taken));
            ReceivingPeer::finish(*outstanding[i]);
            EXPECT_TRUE(is_complete(requests[i]));
        }
    });
}

} // namespace
} // namespace volley
