// SPDX-License-Identifier: BSD-3-Clause
#include "pack.h"

#include "elements.h"
#include "external32.h"
#include "layout/copy.h"

#include <cstring>

namespace volley {
namespace {

long long number(Count value) {
    return value;
}

/// What both directions check: the number of elements, the type, and that [position, position + needed) lies
/// in the packed buffer.
Outcome check(const char *function, Count count, const Datatype &datatype, Count bytes_each, Count packed_bytes,
              Count position, Count &needed) {
    if (count < 0)
        return failure(MPI_ERR_COUNT, "%s: count is %lld, but must not be negative", function, number(count));
    if (!datatype.is_committed())
        return failure(MPI_ERR_TYPE, "%s: the datatype is not committed; call MPI_Type_commit first", function);
    if (packed_bytes < 0)
        return failure(MPI_ERR_ARG, "%s: the size of the packed buffer is %lld, but must not be negative", function,
                       number(packed_bytes));
    if (position < 0 || position > packed_bytes)
        return failure(MPI_ERR_ARG, "%s: position is %lld, but must be from 0 to the buffer's size of %lld", function,
                       number(position), number(packed_bytes));
    Checked product = Checked(count) * bytes_each;
    if (product.overflow())
        return failure(MPI_ERR_COUNT, "%s: %lld elements of %lld bytes exceed 2^63 - 1 bytes", function, number(count),
                       number(bytes_each));
    needed = product.value();
    if (needed > packed_bytes - position)
        return failure(MPI_ERR_TRUNCATE, "%s: %lld bytes are needed at position %lld, but the packed buffer has %lld",
                       function, number(needed), number(position), number(packed_bytes));
    return {};
}

Outcome check_size(const char *function, Count count, Count bytes_each, Count &bytes) {
    if (count < 0)
        return failure(MPI_ERR_COUNT, "%s: count is %lld, but must not be negative", function, number(count));
    Checked product = Checked(count) * bytes_each;
    if (product.overflow())
        return failure(MPI_ERR_COUNT, "%s: %lld elements of %lld bytes exceed 2^63 - 1 bytes", function, number(count),
                       number(bytes_each));
    bytes = product.value();
    return {};
}

Outcome check_representation(const char *function, const char *representation) {
    if (representation != nullptr && std::strcmp(representation, "external32") == 0) return {};
    return failure(MPI_ERR_ARG, "%s: the data representation is \"%s\", but only \"external32\" is defined", function,
                   representation != nullptr ? representation : "(null)");
}

} // namespace

Outcome pack_size(Count count, const Datatype &datatype, Count &bytes) {
    return check_size("MPI_Pack_size", count, datatype.size(), bytes);
}

Outcome pack_at(const void *source, Count count, const Datatype &datatype, void *packed, Count packed_bytes,
                Count &position) {
    Count needed = 0;
    Outcome outcome = check("MPI_Pack", count, datatype, datatype.size(), packed_bytes, position, needed);
    if (!outcome.ok() || needed == 0) return outcome;
    pack({&datatype.plan(), const_cast<void *>(source), count}, 0, needed, static_cast<char *>(packed) + position);
    position += needed;
    return {};
}

Outcome unpack_at(const void *packed, Count packed_bytes, Count &position, void *destination, Count count,
                  const Datatype &datatype) {
    Count needed = 0;
    Outcome outcome = check("MPI_Unpack", count, datatype, datatype.size(), packed_bytes, position, needed);
    if (!outcome.ok() || needed == 0) return outcome;
    unpack({&datatype.plan(), destination, count}, 0, needed, static_cast<const char *>(packed) + position);
    position += needed;
    return {};
}

Outcome pack_external_size(const char *representation, Count count, const Datatype &datatype, Count &bytes) {
    const char *function = "MPI_Pack_external_size";
    if (Outcome bad = check_representation(function, representation); !bad.ok()) return bad;
    return check_size(function, count, datatype.extents().external_size, bytes);
}

Outcome pack_external_at(const char *representation, const void *source, Count count, const Datatype &datatype,
                         void *packed, Count packed_bytes, Count &position) {
    const char *function = "MPI_Pack_external";
    if (Outcome bad = check_representation(function, representation); !bad.ok()) return bad;
    Count needed = 0;
    Count each = datatype.extents().external_size;
    Outcome outcome = check(function, count, datatype, each, packed_bytes, position, needed);
    if (!outcome.ok() || needed == 0) return outcome;
    char *next = static_cast<char *>(packed) + position;
    auto encode = [&](const BasicType &type, std::uintptr_t address, Count elements, Count stride) {
        external32::encode(type, reinterpret_cast<const char *>(address), stride, elements, next);
        next += elements * type.external_size;
    };
    for_each_element(datatype, reinterpret_cast<std::uintptr_t>(source), count, encode);
    position += needed;
    return {};
}

Outcome unpack_external_at(const char *representation, const void *packed, Count packed_bytes, Count &position,
                           void *destination, Count count, const Datatype &datatype) {
    const char *function = "MPI_Unpack_external";
    if (Outcome bad = check_representation(function, representation); !bad.ok()) return bad;
    Count needed = 0;
    Count each = datatype.extents().external_size;
    Outcome outcome = check(function, count, datatype, each, packed_bytes, position, needed);
    if (!outcome.ok() || needed == 0) return outcome;
    const char *next = static_cast<const char *>(packed) + position;
    auto decode = [&](const BasicType &type, std::uintptr_t address, Count elements, Count stride) {
        external32::decode(type, reinterpret_cast<char *>(address), stride, elements, next);
        next += elements * type.external_size;
    };
    for_each_element(datatype, reinterpret_cast<std::uintptr_t>(destination), count, decode);
    position += needed;
    return {};
}

} // namespace volley
