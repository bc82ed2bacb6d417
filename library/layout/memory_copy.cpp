// SPDX-License-Identifier: BSD-3-Clause
#include "layout/memory_copy.h"

namespace volley {

#if defined(__x86_64__)

namespace {

const bool has_long_words = __builtin_cpu_supports("avx2") != 0;
constexpr std::size_t line_bytes = 64;

/// Stores that cross a line cost more than loads that do, so all but the first and the last are of aligned words.
/// Precondition: size >= line_bytes.
[[gnu::target("avx2")]] void copy_long_words(unsigned char *to, const unsigned char *from, std::size_t size) {
    using Word [[gnu::vector_size(32)]] = long long;
    auto copy_word = [&](std::size_t at) {
        Word word;
        __builtin_memcpy(&word, from + at, sizeof word);
        __builtin_memcpy(to + at, &word, sizeof word);
    };
    copy_word(0);
    std::size_t at = sizeof(Word) - reinterpret_cast<std::uintptr_t>(to) % sizeof(Word);
    for (; at + line_bytes < size; at += line_bytes) {
        Word first, second;
        __builtin_memcpy(&first, from + at, sizeof first);
        __builtin_memcpy(&second, from + at + sizeof first, sizeof second);
        __builtin_memcpy(to + at, &first, sizeof first);
        __builtin_memcpy(to + at + sizeof first, &second, sizeof second);
    }
    copy_word(size - line_bytes); // the last line overlaps the words before
    copy_word(size - sizeof(Word));
}

} // namespace

void copy_in_loops(void *to, const void *from, std::size_t size) {
    if (has_long_words && size >= line_bytes)
        copy_long_words(static_cast<unsigned char *>(to), static_cast<const unsigned char *>(from), size);
    else
        std::memcpy(to, from, size);
}

#else

void copy_in_loops(void *to, const void *from, std::size_t size) {
    std::memcpy(to, from, size);
}

#endif

} // namespace volley
