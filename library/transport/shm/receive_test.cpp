// SPDX-License-Identifier: BSD-3-Clause
/// The receiving half of SharedMemory. The tests do in memory what the sender would do.
#include "core/test_ranks.h"
#include "transport/shm/rendezvous.h"
#include "transport/shm/test_peer.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <thread>

namespace volley {
namespace {

constexpr int sender = 1;

/// A peer that announces messages.
class AnnouncingPeer : public SendingPeer {
  public:
    AnnouncingPeer() : SendingPeer(sender) {}

    /// Announces `text` with a tag. The rendezvous is in that state.
    Rendezvous &announce(std::string &text, int tag, RendezvousState state = RendezvousState::open) {
        auto *rendezvous = static_cast<Rendezvous *>(arena_allocate(sizeof(Rendezvous)));
        rendezvous->sender = processes[sender].place;
        rendezvous->bytes = static_cast<std::int64_t>(text.size());
        rendezvous->address = reinterpret_cast<std::uint64_t>(text.data());
        rendezvous->state.store(state);
        EXPECT_TRUE(ring().send_request({.tag = tag, .context = world_context, .source = sender}, text.data(),
                                        text.size(), arena_offset(rendezvous)));
        return *rendezvous;
    }
};

std::string text_of(std::size_t bytes) {
    std::string text(bytes, '\0');
    std::iota(text.begin(), text.end(), '\0');
    return text;
}

class ReceiveTest : public RankTest {
  protected:
    static int receive(std::string &into, int tag) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        return MPI_Recv(into.data(), static_cast<int>(into.size()), MPI_CHAR, sender, tag, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE);
    }
    static bool is_complete(MPI_Request &request) {
        int flag = 0;
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        return flag != 0;
    }
};

TEST_F(ReceiveTest, AMessageIsCopiedFromWhereItLies) {
    in_lone_rank(2, [] {
        AnnouncingPeer peer;
        std::string text = text_of(100'000), received(text.size(), ' ');
        Rendezvous &rendezvous = peer.announce(text, 3);
        EXPECT_EQ(receive(received, 3), MPI_SUCCESS);
        EXPECT_EQ(received, text);
        EXPECT_EQ(rendezvous.state.load(), RendezvousState::done);
    });
}

TEST_F(ReceiveTest, OneThatIsTooLongGivesWhatFits) {
    in_lone_rank(2, [] {
        AnnouncingPeer peer;
        std::string text = text_of(100'000), received(50'001, ' ');
        Rendezvous &rendezvous = peer.announce(text, 3);
        received.resize(50'000); // the byte behind it is not written
        int code = receive(received, 3), error_class;
        MPI_Error_class(code, &error_class);
        EXPECT_EQ(error_class, MPI_ERR_TRUNCATE);
        EXPECT_EQ(received, text.substr(0, 50'000));
        EXPECT_EQ(received.data()[50'000], '\0');
        EXPECT_EQ(rendezvous.state.load(), RendezvousState::done);
    });
}

/// The receive that met it is matched again.
TEST_F(ReceiveTest, ACancelledMessageIsPassedOver) {
    in_lone_rank(2, [] {
        AnnouncingPeer peer;
        std::string text = text_of(100'000);
        int number = -1;
        MPI_Request request;
        MPI_Irecv(&number, 1, MPI_INT, sender, 0, MPI_COMM_WORLD, &request);
        Rendezvous &rendezvous = peer.announce(text, 0, RendezvousState::cancelled);
        EXPECT_FALSE(is_complete(request));
        EXPECT_EQ(rendezvous.state.load(), RendezvousState::done);
        peer.sent = 7;
        peer.send_number();
        EXPECT_TRUE(is_complete(request));
        EXPECT_EQ(number, 7);
    });
}

TEST_F(ReceiveTest, AMessageIsTakenOutOfTheArena) {
    in_lone_rank(2, [] {
        AnnouncingPeer peer;
        std::string text = text_of(100'000), received(text.size(), ' ');
        Rendezvous &rendezvous = peer.announce(text, 0, RendezvousState::buffered);
        auto *block = static_cast<char *>(arena_allocate(text.size()));
        std::ranges::copy(text, block);
        std::ranges::fill(text, ' '); // the sender's buffer is its program's again
        rendezvous.block = reinterpret_cast<std::uint64_t>(block);
        EXPECT_EQ(receive(received, 0), MPI_SUCCESS);
        EXPECT_EQ(received, text_of(text.size()));
        EXPECT_EQ(rendezvous.state.load(), RendezvousState::done);
    });
}

TEST_F(ReceiveTest, TheReceiverFollowsASenderThatPipelines) {
    in_lone_rank(2, [] {
        AnnouncingPeer peer;
        std::string text = text_of(100'000), received(text.size(), ' ');
        Rendezvous &rendezvous = peer.announce(text, 0, RendezvousState::pipelining);
        auto *block = static_cast<char *>(arena_allocate(text.size()));
        rendezvous.block = reinterpret_cast<std::uint64_t>(block);
        std::thread sending([&] {
            for (std::size_t from = 0; from < text.size(); from += 1000) {
                std::copy_n(text.data() + from, 1000, block + from);
                rendezvous.pipelined.store(static_cast<std::int64_t>(from + 1000), std::memory_order_release);
            }
            rendezvous.state.store(RendezvousState::buffered, std::memory_order_release);
        });
        EXPECT_EQ(receive(received, 0), MPI_SUCCESS);
        sending.join();
        EXPECT_EQ(received, text);
        EXPECT_EQ(rendezvous.state.load(), RendezvousState::done);
    });
}

/// From then on neither a sender that cancels nor one that would go on can have it.
TEST_F(ReceiveTest, AMatchedProbeClaimsTheMessage) {
    in_lone_rank(2, [] {
        AnnouncingPeer peer;
        std::string text = text_of(100'000), received(text.size(), ' ');
        Rendezvous &rendezvous = peer.announce(text, 5);
        MPI_Message message;
        MPI_Mprobe(sender, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        EXPECT_FALSE(rendezvous.claim(RendezvousState::cancelled));
        EXPECT_EQ(rendezvous.state.load(), RendezvousState::taken);
        MPI_Mrecv(received.data(), static_cast<int>(received.size()), MPI_CHAR, &message, MPI_STATUS_IGNORE);
        EXPECT_EQ(received, text);
        EXPECT_EQ(rendezvous.state.load(), RendezvousState::done);
    });
}

/// The sender does not look at it: the receiver puts it on the sender's list.
TEST_F(ReceiveTest, ASenderThatWantsToBeToldIsTold) {
    in_lone_rank(2, [] {
        AnnouncingPeer peer;
        std::string text = text_of(100'000), received(text.size(), ' ');
        Rendezvous &first = peer.announce(text, 1), &second = peer.announce(text, 2);
        first.notifies = second.notifies = 1;
        EXPECT_EQ(receive(received, 1), MPI_SUCCESS);
        EXPECT_EQ(receive(received, 2), MPI_SUCCESS);
        EXPECT_EQ(node.inbox(processes[sender].place)->attention.load(), arena_offset(&second));
        EXPECT_EQ(second.next_with_attention, arena_offset(&first));
        EXPECT_EQ(first.next_with_attention, 0U);
    });
}

/// A message of another process that its sender streams through a block smaller than the message.
TEST_F(ReceiveTest, AStreamIsTakenRoundByRound) {
    in_lone_rank(2, [] {
        processes[sender].record->space = 2; // its memory cannot be read
        AnnouncingPeer peer;
        std::string text = text_of(10'000), received(text.size(), ' ');
        MPI_Request request;
        MPI_Irecv(received.data(), static_cast<int>(received.size()), MPI_CHAR, sender, 0, MPI_COMM_WORLD, &request);
        Rendezvous &rendezvous = peer.announce(text, 0);
        rendezvous.plan = 1; // nor could the kernel read it, since it lies there by a plan
        EXPECT_FALSE(is_complete(request));
        ASSERT_EQ(rendezvous.state.load(), RendezvousState::wanted);
        constexpr std::int64_t block_bytes = 4096;
        auto *block = static_cast<char *>(arena_allocate(block_bytes));
        rendezvous.block = reinterpret_cast<std::uint64_t>(block);
        rendezvous.block_bytes = block_bytes;
        rendezvous.state.store(RendezvousState::streaming);
        for (std::int64_t from = 0; from < rendezvous.bytes; from += 2048) {
            std::int64_t to = std::min<std::int64_t>(from + 2048, rendezvous.bytes);
            std::copy(text.data() + from, text.data() + to, block + from % block_bytes);
            rendezvous.pipelined.store(to);
            EXPECT_EQ(is_complete(request), to == rendezvous.bytes);
            EXPECT_EQ(rendezvous.copied.load(), to);
        }
        EXPECT_EQ(received, text);
        EXPECT_EQ(rendezvous.state.load(), RendezvousState::done);
    });
}

} // namespace
} // namespace volley
