// SPDX-License-Identifier: BSD-3-Clause
/// The elements all datatypes are made of: what a basic type is, in this machine's memory and in external32.
#pragma once

#include "signature.h"

#include <cstdint>

namespace volley {

/// What the bits of an element mean. Elements of the same kind and size have the same representation.
enum class BasicKind : std::uint8_t {
    none, ///< not a basic type: a pair of two, or a derived type
    signed_integer,
    unsigned_integer,
    floating,         ///< IEEE binary16, 32, 64 or 128, by size
    extended,         ///< C's long double
    complex,          ///< two of `floating`, each half the size
    extended_complex, ///< two of `extended`
    logical,          ///< Fortran's LOGICAL, C's bool: zero is false
    character,        ///< one byte of text
    wide_character,   ///< C's wchar_t
    byte,             ///< uninterpreted
    packed,           ///< MPI_PACKED: matches everything
};

struct BasicType {
    BasicKind kind = BasicKind::none;
    std::uint8_t size = 0;          ///< bytes in memory
    std::uint8_t alignment = 1;     ///< bytes
    std::uint8_t external_size = 0; ///< bytes in external32

    /// Elements match if their kinds and sizes do: long and int64_t, MPI_INT and MPI_INTEGER are the same data.
    constexpr std::uint32_t signature_code() const {
        return 1 + (std::uint32_t{size} << 8 | static_cast<std::uint32_t>(kind));
    }
};

} // namespace volley
