// SPDX-License-Identifier: BSD-3-Clause
/// The innermost loops of copying: blocks of equal length between regular or listed places.
///
/// Lengths that are common (those of numbers, pairs and small vectors of them) get a loop each in which the
/// compiler knows the length; up to a cache line others are copied by overlapping moves without a call.
#pragma once

#include "layout/checked.h"
#include "layout/memory_copy.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace volley::kernels {

inline char *pointer(std::uintptr_t address) {
    return reinterpret_cast<char *>(address);
}

template <std::size_t bytes> [[gnu::always_inline]] inline void copy_fixed(char *to, const char *from) {
    std::memcpy(to, from, bytes);
}

/// The first and last `part` bytes of a block with at most twice as many; they may overlap.
template <std::size_t part>
[[gnu::always_inline]] inline void copy_ends(char *to, const char *from, std::size_t bytes) {
    char first[part], last[part];
    std::memcpy(first, from, part);
    std::memcpy(last, from + bytes - part, part);
    std::memcpy(to, first, part);
    std::memcpy(to + bytes - part, last, part);
}

/// memcpy for blocks that are mostly small.
[[gnu::always_inline]] inline void copy_block(char *to, const char *from, std::size_t bytes) {
    if (bytes > 64) {
        copy_memory(to, from, bytes);
    } else if (bytes >= 32) {
        copy_ends<32>(to, from, bytes);
    } else if (bytes >= 16) {
        copy_ends<16>(to, from, bytes);
    } else if (bytes >= 8) {
        copy_ends<8>(to, from, bytes);
    } else if (bytes >= 4) {
        copy_ends<4>(to, from, bytes);
    } else if (bytes >= 2) {
        copy_ends<2>(to, from, bytes);
    } else if (bytes == 1) {
        *to = *from;
    }
}

/// Calls `run` with the length as a constant, or 0 where there is no loop of its own for it.
template <class Run> [[gnu::always_inline]] inline void with_length(Count bytes, Run run) {
    switch (bytes) {
    case 1:
        return run(std::integral_constant<std::size_t, 1>());
    case 2:
        return run(std::integral_constant<std::size_t, 2>());
    case 4:
        return run(std::integral_constant<std::size_t, 4>());
    case 8:
        return run(std::integral_constant<std::size_t, 8>());
    case 12:
        return run(std::integral_constant<std::size_t, 12>());
    case 16:
        return run(std::integral_constant<std::size_t, 16>());
    case 24:
        return run(std::integral_constant<std::size_t, 24>());
    case 32:
        return run(std::integral_constant<std::size_t, 32>());
    case 48:
        return run(std::integral_constant<std::size_t, 48>());
    case 64:
        return run(std::integral_constant<std::size_t, 64>());
    default:
        return run(std::integral_constant<std::size_t, 0>());
    }
}

template <std::size_t fixed> [[gnu::always_inline]] inline void copy(char *to, const char *from, std::size_t bytes) {
    if constexpr (fixed != 0)
        copy_fixed<fixed>(to, from);
    else
        copy_block(to, from, bytes);
}

/// `count` blocks between two regular rhythms.
inline void copy_strided(std::uintptr_t to, Count to_stride, std::uintptr_t from, Count from_stride, Count block,
                         Count count) {
    with_length(block, [&](auto length) __attribute__((always_inline)) {
        for (Count i = 0; i < count; ++i) {
            copy<length()>(pointer(to), pointer(from), static_cast<std::size_t>(block));
            to += static_cast<std::uintptr_t>(to_stride);
            from += static_cast<std::uintptr_t>(from_stride);
        }
    });
}

/// How many blocks ahead to ask for the memory that a list names. Writing through a shuffled list of a megabyte
/// gains 1.6 times; for regular distances it gains nothing.
inline constexpr Count prefetch_blocks = 32;

/// Packs blocks of 4 or 8 bytes 16 bytes at a time; returns how many it has packed. With a store for each of
/// them the first-level cache allows half as much.
template <std::size_t length>
inline Count gather([[maybe_unused]] char *packed, [[maybe_unused]] std::uintptr_t address,
                    [[maybe_unused]] Count count, [[maybe_unused]] Count stride) {
    Count i = 0;
#if defined(__SSE2__)
    auto step = static_cast<std::uintptr_t>(stride);
    auto store = [&](__m128i value, Count offset) {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(packed + offset), value);
    };
    if constexpr (length == 8) {
        auto load = [&](std::uintptr_t at) { return _mm_loadl_epi64(reinterpret_cast<const __m128i *>(pointer(at))); };
        for (; i + 4 <= count; i += 4, packed += 32, address += 4 * step) {
            store(_mm_unpacklo_epi64(load(address), load(address + step)), 0);
            store(_mm_unpacklo_epi64(load(address + 2 * step), load(address + 3 * step)), 16);
        }
    } else if constexpr (length == 4) {
        auto load = [&](std::uintptr_t at) {
            int value = 0;
            std::memcpy(&value, pointer(at), 4);
            return _mm_cvtsi32_si128(value);
        };
        for (; i + 4 <= count; i += 4, packed += 16, address += 4 * step) {
            __m128i low = _mm_unpacklo_epi32(load(address), load(address + step));
            __m128i high = _mm_unpacklo_epi32(load(address + 2 * step), load(address + 3 * step));
            store(_mm_unpacklo_epi64(low, high), 0);
        }
    }
#endif
    return i;
}

} // namespace volley::kernels
