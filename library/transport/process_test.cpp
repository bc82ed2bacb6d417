// SPDX-License-Identifier: BSD-3-Clause
#include "transport/process.h"

#include <gtest/gtest.h>

#include <array>

namespace volley {
namespace {

/// Ranks 0 and 1 on one node, 2 to 4 on another.
class TwoNodes : public testing::Test {
  protected:
    TwoNodes() {
        for (std::size_t rank = 2; rank < records.size(); rank++) records[rank].node = 1;
    }

    std::array<RankRecord, 5> records{};
    ProcessTable table;
};

TEST_F(TwoNodes, SaysForEachPeerOnceHowMessagesGetThere) {
    table.open(records.data(), 5, 3, Transport::shm);
    for (int rank : {0, 1}) EXPECT_EQ(table[rank].transport, Transport::tcp) << rank;
    for (int rank : {2, 3, 4}) EXPECT_EQ(table[rank].transport, Transport::shm) << rank;
    EXPECT_TRUE(table.uses(Transport::tcp));
}

TEST_F(TwoNodes, HidesTheMemoryOfOtherNodes) {
    table.open(records.data(), 5, 3, Transport::shm);
    EXPECT_EQ(table[1].record, nullptr);
    EXPECT_EQ(table[1].place, -1);
    EXPECT_EQ(table[4].record, &records[4]);
    EXPECT_EQ(table.at_place(table[4].place), 4);
}

TEST_F(TwoNodes, MessagesToItselfNeedNoConnection) {
    table.open(records.data(), 5, 3, Transport::tcp);
    EXPECT_EQ(table[3].transport, Transport::shm);
    for (int rank : {0, 1, 2, 4}) EXPECT_EQ(table[rank].transport, Transport::tcp) << rank;
}

TEST_F(TwoNodes, ProcessesOfOtherJobsAreFoundByTheirNames) {
    table.open(records.data(), 5, 0, Transport::shm);
    RankRecord neighbour;
    ProcessIndex far = table.add({.name = {.job = 7, .rank = 2}, .node = 9, .transport = Transport::tcp});
    ProcessIndex near = table.add({.name = {.job = 7, .rank = 0}, .node = 0, .place = 8, .record = &neighbour});
    EXPECT_EQ(table.size(), 7);
    EXPECT_EQ(table.ranks(), 5);
    EXPECT_EQ(table.find({.job = 7, .rank = 2}), far);
    EXPECT_EQ(table.find({.job = 7, .rank = 1}), -1);
    EXPECT_EQ(table.find({.rank = 4}), 4);
    EXPECT_EQ(table.find({.rank = 5}), -1);
    EXPECT_EQ(table.at_place(8), near);
    EXPECT_EQ(table[near].record, &neighbour);
}

} // namespace
} // namespace volley
