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

TEST(Lines, CopiesForAPeerWhateverTheSize) {
    for (std::size_t size : {0u, 1u, 64u, 1023u, 1024u, 1025u, 1087u, 1088u, 1089u, 4096u, 8191u, 8192u, 8193u})
        for (std::size_t shift : {0u, 1u, 8u, 31u, 63u}) {
            std::vector<unsigned char> from(size + 128), to(size + 128, 0xbb), expected = to;
            std::iota(from.begin(), from.end(), 1);
            std::copy_n(from.begin() + 3, size, expected.begin() + static_cast<std::ptrdiff_t>(shift));
            copy_for_peer(to.data() + shift, from.data() + 3, size);
            EXPECT_EQ(to, expected) << size << " bytes, shifted by " << shift;
        }
}

} // namespace
} // namespace volley
