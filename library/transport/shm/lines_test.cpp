// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/lines.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace volley {
namespace {

TEST(Lines, CopiesAnySizeFromAnyAddressToAnyOther) {
    for (std::size_t size : {1u, 41u, 63u, 64u, 65u, 127u, 128u, 1000u, 4096u, 4097u})
        for (std::size_t shift : {0u, 1u, 8u, 31u, 63u}) {
            std::vector<unsigned char> from(size + 128, 0xaa), to(size + 128, 0xbb), expected = to;
            std::iota(from.begin() + 3, from.begin() + 3 + static_cast<std::ptrdiff_t>(size), 1);
            std::copy_n(from.begin() + 3, size, expected.begin() + static_cast<std::ptrdiff_t>(shift));
            copy_and_reclaim(to.data() + shift, from.data() + 3, size);
            EXPECT_EQ(to, expected) << size << " bytes, shifted by " << shift;
            EXPECT_EQ(from[2], 0xaa);
            EXPECT_EQ(from[3 + size], 0xaa) << "written behind " << size << " bytes";
        }
}

} // namespace
} // namespace volley
