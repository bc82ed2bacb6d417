// SPDX-License-Identifier: BSD-3-Clause
/// The type signature of a message in 24 bytes: how many basic elements, and a hash of their sequence.
///
/// The hash is a polynomial modulo the prime 2^61 - 1, so that the signature of a concatenation or of a
/// repetition follows from those of its parts, without looking at elements.
#pragma once

#include "layout/checked.h"

#include <cstdint>

namespace volley {

struct Signature {
    std::uint64_t hash = 0;
    std::uint64_t shift = 1; ///< base to the power of `elements`
    Count elements = 0;

    constexpr bool operator==(const Signature &) const = default;
};

namespace signature {

__extension__ using Wide = unsigned __int128;

inline constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;
inline constexpr std::uint64_t base = 0x0b10'5a4d'93c7'e1f5; ///< any large residue does

/// Any x below 2^64 to a residue below 2^61.
constexpr std::uint64_t reduce(std::uint64_t x) {
    x = (x & prime) + (x >> 61);
    return x >= prime ? x - prime : x;
}

constexpr std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
    Wide product = static_cast<Wide>(a) * b;
    return reduce((static_cast<std::uint64_t>(product) & prime) + static_cast<std::uint64_t>(product >> 61));
}

/// One basic element; `code` tells classes of elements apart (see BasicType::signature_code).
constexpr Signature element(std::uint32_t code) {
    return {reduce(code * 0x9e37'79b9'7f4a'7c15), base, 1};
}

constexpr Signature concatenate(const Signature &first, const Signature &second) {
    return {reduce(multiply(first.hash, second.shift) + second.hash), multiply(first.shift, second.shift),
            first.elements + second.elements};
}

/// `count` times the same; the caller has checked that the number of elements does not overflow.
constexpr Signature repeat(Signature once, Count count) {
    if (count == 1) return once;
    Signature result;
    for (auto left = static_cast<std::uint64_t>(count); left != 0; left >>= 1) {
        if (left & 1) result = concatenate(result, once);
        if (left > 1) once = concatenate(once, once);
    }
    return result;
}

} // namespace signature
} // namespace volley
