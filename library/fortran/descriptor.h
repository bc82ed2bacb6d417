// SPDX-License-Identifier: BSD-3-Clause
/// Descriptors of arrays, as compilers hand them to C (ISO_Fortran_binding.h, CFI_cdesc_t). Their parts that are used
/// here lie alike in gfortran's and flang's, so no compiler's header is needed to build this library.
#pragma once

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

inline void *address_of(const Descriptor &descriptor) {
    return descriptor.base;
}

} // namespace volley::fortran
