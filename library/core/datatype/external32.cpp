// SPDX-License-Identifier: BSD-3-Clause
#include "external32.h"

#include <bit>
#include <cfloat>
#include <cstddef>
#include <cstring>

namespace volley::external32 {
namespace {

static_assert(std::endian::native == std::endian::little, "encode() turns little-endian values round");
static_assert(LDBL_MANT_DIG == 64 || LDBL_MANT_DIG == 113, "long double is the x87's or IEEE binary128");

void reverse(char *to, const char *from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[bytes - 1 - i];
}

/// The parts of IEEE binary128, which has 112 bits of fraction.
struct Binary128 {
    std::uint16_t sign_exponent = 0;
    std::uint64_t fraction_high = 0; ///< the upper 48 bits
    std::uint64_t fraction_low = 0;
};

/// The x87's number has an explicit first bit and 63 bits of fraction; everything fits.
Binary128 widen(const char *x87) {
    std::uint64_t mantissa = 0;
    Binary128 wide;
    std::memcpy(&mantissa, x87, 8);
    std::memcpy(&wide.sign_exponent, x87 + 8, 2);
    bool leading = (mantissa >> 63) != 0;
    // A pseudo-denormal, exponent 0 with a leading one, has the value of exponent 1.
    if (leading && (wide.sign_exponent & 0x7fff) == 0) wide.sign_exponent |= 1;
    std::uint64_t fraction = mantissa & ~(std::uint64_t{1} << 63);
    wide.fraction_high = fraction >> 15;
    wide.fraction_low = fraction << 49;
    return wide;
}

/// Rounded to the nearest, ties to even.
void narrow(const Binary128 &wide, char *x87) {
    std::uint64_t fraction = wide.fraction_high << 15 | wide.fraction_low >> 49;
    std::uint64_t lost = wide.fraction_low << 15;
    std::uint16_t sign_exponent = wide.sign_exponent;
    int exponent = sign_exponent & 0x7fff;
    constexpr std::uint64_t leading = std::uint64_t{1} << 63;
    constexpr std::uint64_t half = std::uint64_t{1} << 63;
    std::uint64_t mantissa = (exponent != 0 ? leading : 0) | fraction;
    if (exponent == 0x7fff) {
        // Not a number, with all its bits in the part that is lost, must not become infinity.
        if (fraction == 0 && lost != 0) mantissa |= std::uint64_t{1} << 62;
    } else if (lost > half || (lost == half && (fraction & 1) != 0)) {
        if (++mantissa == 0) {
            mantissa = leading;
            ++sign_exponent;
        } else if (exponent == 0 && (mantissa & leading) != 0) {
            ++sign_exponent; // the largest subnormal became the smallest normal number
        }
    }
    std::memset(x87, 0, sizeof(long double));
    std::memcpy(x87, &mantissa, 8);
    std::memcpy(x87 + 8, &sign_exponent, 2);
}

void encode_extended(const char *memory, char *external) {
    if constexpr (LDBL_MANT_DIG == 64) {
        Binary128 wide = widen(memory);
        char little[16];
        std::uint64_t high = std::uint64_t{wide.sign_exponent} << 48 | wide.fraction_high;
        std::memcpy(little, &wide.fraction_low, 8);
        std::memcpy(little + 8, &high, 8);
        reverse(external, little, 16);
    } else {
        reverse(external, memory, 16);
    }
}

void decode_extended(char *memory, const char *external) {
    if constexpr (LDBL_MANT_DIG == 64) {
        char little[16];
        reverse(little, external, 16);
        Binary128 wide;
        std::uint64_t high = 0;
        std::memcpy(&wide.fraction_low, little, 8);
        std::memcpy(&high, little + 8, 8);
        wide.fraction_high = high & ((std::uint64_t{1} << 48) - 1);
        wide.sign_exponent = static_cast<std::uint16_t>(high >> 48);
        narrow(wide, memory);
    } else {
        reverse(memory, external, 16);
    }
}

bool is_signed(BasicKind kind) {
    return kind == BasicKind::signed_integer;
}

void encode_one(const BasicType &type, const char *memory, char *external) {
    std::size_t half = type.size / 2u;
    switch (type.kind) {
    case BasicKind::complex:
        reverse(external, memory, half);
        reverse(external + half, memory + half, half);
        break;
    case BasicKind::extended:
        encode_extended(memory, external);
        break;
    case BasicKind::extended_complex:
        encode_extended(memory, external);
        encode_extended(memory + sizeof(long double), external + 16);
        break;
    default: // the low bytes of an integer come first here
        reverse(external, memory, type.external_size);
    }
}

void decode_one(const BasicType &type, char *memory, const char *external) {
    std::size_t half = type.size / 2u;
    switch (type.kind) {
    case BasicKind::complex:
        reverse(memory, external, half);
        reverse(memory + half, external + half, half);
        break;
    case BasicKind::extended:
        decode_extended(memory, external);
        break;
    case BasicKind::extended_complex:
        decode_extended(memory, external);
        decode_extended(memory + sizeof(long double), external + 16);
        break;
    default: {
        bool negative = is_signed(type.kind) && (external[0] & 0x80) != 0;
        reverse(memory, external, type.external_size);
        std::memset(memory + type.external_size, negative ? 0xff : 0, std::size_t{type.size} - type.external_size);
    }
    }
}

} // namespace

void encode(const BasicType &type, const char *memory, Count stride, Count count, char *external) {
    for (Count i = 0; i < count; ++i) encode_one(type, memory + i * stride, external + i * type.external_size);
}

void decode(const BasicType &type, char *memory, Count stride, Count count, const char *external) {
    for (Count i = 0; i < count; ++i) decode_one(type, memory + i * stride, external + i * type.external_size);
}

} // namespace volley::external32
