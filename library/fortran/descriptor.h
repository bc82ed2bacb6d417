// SPDX-License-Identifier: BSD-3-Clause
/// Descriptors of arrays, as compilers hand them to C (ISO_Fortran_binding.h, CFI_cdesc_t). Their parts that are used
/// here lie alike in gfortran's and flang's, so no compiler's header is needed to build this library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace volley::fortran {

struct Dimension {
    std::ptrdiff_t lower_bound;
    std::ptrdiff_t extent; ///< -1: of assumed size
    std::ptrdiff_t stride; ///< bytes from one element to the next
};

struct Descriptor {
    void *base;
    std::size_t element_bytes; ///< of a string, its length
    int version;
    std::uint8_t rank;
    std::uint8_t others[3];
    Dimension dimensions[15];
};
static_assert(offsetof(Descriptor, rank) == 20 && offsetof(Descriptor, dimensions) == 24);

/// How gfortran describes arrays to procedures of its own, among which are those of MPICH's module mpi_f08.
struct GfortranDescriptor {
    void *base;
    std::size_t offset;
    std::size_t element_bytes;
    int version;
    std::uint8_t rank;
    std::uint8_t type;
    std::int16_t attribute;
    std::ptrdiff_t span; ///< bytes that strides are counted in; 0: an element's
    struct {
        std::ptrdiff_t stride;
        std::ptrdiff_t lower_bound;
        std::ptrdiff_t upper_bound; ///< of the last dimension -1: of assumed size
    } dimensions[15];
};
static_assert(offsetof(GfortranDescriptor, rank) == 28 && offsetof(GfortranDescriptor, dimensions) == 40);

inline Descriptor converted(const GfortranDescriptor &from) {
    Descriptor to = {from.base, from.element_bytes, from.version, from.rank, {}, {}};
    const auto unit = from.span != 0 ? from.span : static_cast<std::ptrdiff_t>(from.element_bytes);
    for (int i = 0; i < from.rank; ++i) {
        const auto &dimension = from.dimensions[i];
        const bool assumed_size = i == from.rank - 1 && dimension.upper_bound == -1;
        const std::ptrdiff_t extent = std::max<std::ptrdiff_t>(dimension.upper_bound - dimension.lower_bound + 1, 0);
        to.dimensions[i] = {dimension.lower_bound, assumed_size ? -1 : extent, dimension.stride * unit};
    }
    return to;
}

inline void *address_of(const Descriptor &descriptor) {
    return descriptor.base;
}

} // namespace volley::fortran
