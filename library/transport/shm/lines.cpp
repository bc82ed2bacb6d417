// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/lines.h"

namespace volley {

#if defined(__x86_64__)

/// Uses long words, since a core has room for only so many stores, and the stores to each line wait for one another (64
/// KiB written by a peer: 2.4 us; with words of 16 bytes 3.1, with memcpy and reclaim() after it 2.8).
[[gnu::target("avx2")]] void copy_and_reclaim_lines(void *to, unsigned char *from, std::size_t size) {
    using Word [[gnu::vector_size(32)]] = long long;
    auto *target = static_cast<unsigned char *>(to);
    std::size_t whole = size / cache_line * cache_line;
    for (std::size_t at = 0; at < whole; at += cache_line) {
        Word first, second;
        __builtin_memcpy(&first, from + at, sizeof first);
        __builtin_memcpy(&second, from + at + sizeof first, sizeof second);
        *const_cast<volatile unsigned char *>(from + at) = 0;
        __builtin_memcpy(target + at, &first, sizeof first);
        __builtin_memcpy(target + at + sizeof first, &second, sizeof second);
    }
    if (whole == size) return;
    std::memcpy(target + whole, from + whole, size - whole);
    reclaim(from + whole, size - whole);
}

#else

void copy_and_reclaim_lines(void *to, unsigned char *from, std::size_t size) {
    std::memcpy(to, from, size);
}

#endif

} // namespace volley
