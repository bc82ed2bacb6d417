// SPDX-License-Identifier: BSD-3-Clause
#include "collective/area.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace volley {
namespace {

using Range = std::pair<std::uintptr_t, std::uintptr_t>;

Range range_of(const void *begin, std::size_t bytes) {
    auto address = reinterpret_cast<std::uintptr_t>(begin);
    return {address, address + bytes};
}

/// What ranks write in an area lies in its memory, and nowhere twice.
TEST(CollectiveArea, NothingOverlapsAndAllFits) {
    for (int ranks : {1, 2, 5, 64}) {
        for (bool direct : {false, true}) {
            std::size_t room = CollectiveArea::room_bytes_for(ranks, direct);
            std::size_t stage = CollectiveArea::stage_bytes_for(ranks, direct);
            std::size_t bytes = CollectiveArea::footprint(ranks, room, stage);
            std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(cache_line, bytes), &std::free);
            auto &area = *static_cast<CollectiveArea *>(memory.get());
            area.ranks = static_cast<std::uint32_t>(ranks);
            area.room_bytes = static_cast<std::uint32_t>(room);
            area.stage_bytes = static_cast<std::uint32_t>(stage);
            area.buffers_used = 0;
            std::vector<Range> parts{range_of(&area, sizeof area)};
            for (int rank = 0; rank < ranks; rank++) {
                auto index = static_cast<std::uint64_t>(rank);
                for (std::uint64_t round = 0; round < CollectiveArea::depth; round++) {
                    parts.push_back(range_of(&area.slots()[index * CollectiveArea::depth + round], sizeof(RoundSlot)));
                    parts.push_back(range_of(area.room(index, round), room));
                }
                parts.push_back(range_of(&area.entered()[rank], sizeof(CollectiveArea::Entered)));
                for (std::uint64_t piece : {0, 1}) parts.push_back(range_of(area.stage(rank, piece), stage));
            }
            std::ranges::sort(parts);
            for (std::size_t i = 1; i < parts.size(); i++) EXPECT_LE(parts[i - 1].second, parts[i].first) << ranks;
            EXPECT_EQ(parts.back().second, range_of(&area, bytes).second) << ranks;
        }
    }
}

/// Rounds and pieces use the same memory again, as late as they may.
TEST(CollectiveArea, ARoomIsAnothersOnlyAfterAllRoundsBefore) {
    constexpr int ranks = 3;
    std::size_t bytes = CollectiveArea::footprint(ranks, 4096, 4096);
    std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(cache_line, bytes), &std::free);
    auto &area = *static_cast<CollectiveArea *>(memory.get());
    area.ranks = ranks;
    area.room_bytes = area.stage_bytes = 4096;
    area.buffers_used = 0;
    EXPECT_EQ(area.room(1, 5), area.room(1, 5 + CollectiveArea::depth));
    EXPECT_NE(area.room(1, 5), area.room(1, 5 + CollectiveArea::depth - 1));
    EXPECT_EQ(area.stage(2, 0), area.stage(2, 2));
    EXPECT_NE(area.stage(2, 0), area.stage(2, 1));
    EXPECT_EQ(area.buffers_used, 1);
}

} // namespace
} // namespace volley
