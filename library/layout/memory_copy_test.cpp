// SPDX-License-Identifier: BSD-3-Clause
#include "layout/memory_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace volley {
namespace {

constexpr std::size_t page = 4096, margin = 64;

/// Bytes that differ from their neighbours and from those a page away.
std::vector<unsigned char> numbered(std::size_t size) {
    std::vector<unsigned char> bytes(size);
    for (std::size_t i = 0; i < size; i++) bytes[i] = static_cast<unsigned char>(i + i / 251);
    return bytes;
}

TEST(MemoryCopy, CopiesAnySizeToAnyDistanceAndNothingBeside) {
    for (std::size_t size :
         {0u, 1u, 63u, 64u, 65u, 127u, 128u, 2047u, 2048u, 2049u, 4095u, 4096u, 4097u, 8192u, 20001u})
        for (std::size_t distance : {0u, 1u, 2u, 15u, 16u, 31u, 32u, 33u, 63u, 64u, 65u, 4095u})
            for (auto *copy : {copy_memory, move_memory, copy_in_loops}) {
                std::vector<unsigned char> memory = numbered(2 * (size + 2 * page));
                unsigned char *from = memory.data() + margin;
                unsigned char *to = from + (size + page) / page * page + distance;
                std::vector<unsigned char> expected = memory;
                std::copy_n(from, size, expected.begin() + (to - memory.data()));
                copy(to, from, size);
                EXPECT_EQ(memory, expected) << size << " bytes, " << distance << " behind some pages";
            }
}

TEST(MemoryCopy, MovesWhereTheTwoOverlap) {
    for (std::size_t size : {100u, 2048u, 10000u})
        for (std::ptrdiff_t distance : {-4095, -65, -1, 0, 1, 16, 33, 63, 4097}) {
            std::vector<unsigned char> memory = numbered(size + 4 * page), expected = memory;
            unsigned char *from = memory.data() + 2 * page;
            std::vector<unsigned char> moved(from, from + size);
            std::copy(moved.begin(), moved.end(), expected.begin() + 2 * page + distance);
            move_memory(from + distance, from, size);
            EXPECT_EQ(memory, expected) << size << " bytes by " << distance;
        }
}

TEST(MemoryCopy, KnowsPlacesThatDifferByLessThanALineAndWholePages) {
    unsigned char *from = nullptr;
    for (std::size_t pages : {0u, 1u, 7u}) {
        for (std::size_t behind : {1u, 31u, 63u}) EXPECT_TRUE(stores_precede_loads(from + pages * page + behind, from));
        for (std::size_t behind : {0u, 64u, 2048u, 4095u})
            EXPECT_FALSE(stores_precede_loads(from + pages * page + behind, from));
        EXPECT_TRUE(stores_precede_loads(from, from + pages * page + page - 1));
    }
}

} // namespace
} // namespace volley
