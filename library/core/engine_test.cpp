// SPDX-License-Identifier: BSD-3-Clause
#include "core/engine.h"

#include "core/test_ranks.h"
#include "transport/shm/test_peer.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace volley {
namespace {

constexpr int ranks = 40;

class EngineTest : public RankTest {
  protected:
    /// Waits by this policy for messages of peers that have long been silent. Each message comes at the end of a look
    /// for which `is_time()` holds. Returns after how many further looks in vain it was found, at most.
    template <class IsTime> static int looks_in_vain(const WaitPolicy &policy, IsTime &&is_time) {
        std::vector<std::unique_ptr<SendingPeer>> peers;
        for (int peer = 1; peer < ranks; peer++) {
            peers.push_back(std::make_unique<SendingPeer>(peer));
            peers.back()->send_number();
            int number;
            MPI_Recv(&number, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        node.wait_policy = policy;
        int most = 0;
        for (int i = 0; i < silent_peers; i++) {
            int number = -1, looks = 0, sent_at = 0;
            MPI_Request receive;
            MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &receive);
            engine.wait_until([&] {
                if (number >= 0) return true;
                looks++;
                if (sent_at == 0 && is_time(looks)) {
                    peers[static_cast<std::size_t>(i)]->send_number();
                    sent_at = looks;
                }
                return false;
            });
            most = std::max(most, looks - sent_at);
            MPI_Wait(&receive, MPI_STATUS_IGNORE);
        }
        return most;
    }

    static constexpr int silent_peers = 8;
};

TEST_F(EngineTest, ARankLooksEverywhereBeforeItSleeps) {
    in_lone_rank(ranks, [] {
        bool has_slept = false;
        int vain = looks_in_vain({.spin_until_ns = 0, .yield_until_ns = 0}, [&](int looks) {
            has_slept = looks > 1 && (has_slept || node.own->sleeping != 0);
            return has_slept && node.own->sleeping == 0; // it goes to sleep again after this look
        });
        EXPECT_EQ(vain, 0);
    });
}

TEST_F(EngineTest, ARankLooksEverywhereBeforeOthersHaveItsCore) {
    in_lone_rank(ranks, [] {
        constexpr int looks_before_yields = 200;
        int vain = looks_in_vain({.spin_until_ns = 0, .yield_until_ns = 10'000'000'000},
                                 [](int looks) { return looks >= looks_before_yields; });
        EXPECT_LE(vain, 1); // the message may come after the last look before a yield
    });
}

/// It may have taken a message, and would take another one.
TEST_F(EngineTest, WhatHasBecomeTrueIsNotAskedAgain) {
    in_lone_rank(ranks, [] {
        node.wait_policy.spin_until_ns = 0; // it yields, and never sleeps: nobody would wake it
        node.wait_policy.yield_until_ns = std::numeric_limits<std::int64_t>::max();
        for (int last = 1; last < 200; last++) {
            int asked = 0;
            engine.wait_until([&] { return ++asked >= last; });
            EXPECT_EQ(asked, last);
        }
    });
}

} // namespace
} // namespace volley
