// SPDX-License-Identifier: BSD-3-Clause
/// The loops of the predefined reduction operations (MPI 5.0, section 6.9.2), for every element they allow.
///
/// operation_loops.h makes them; it is compiled once for any processor and once for those with AVX2, and
/// operation.cpp asks for the table that suits.
#pragma once

#include <cstdint>

namespace volley {

/// What a loop works on: elements with the same representation share their loops.
enum class Element : std::uint8_t {
    int8,
    int16,
    int32,
    int64,
    int128,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    float32,
    float64,
    float80,
    float128,
    complex16, ///< two float16
    complex32, ///< two float32, and so on
    complex64,
    complex80,
    complex128,
    logical8,
    logical16,
    logical32,
    logical64,
    logical128,
    byte,
    short_int,
    int_int,
    long_int,
    float_int,
    double_int,
    long_double_int,
    float_float,
    double_double,
    none, ///< no predefined operation is defined for it
};

inline constexpr int elements = static_cast<int>(Element::none);

/// Numbers of predefined operations: the low bits of their handles.
inline constexpr int operation_numbers = 0x20;

/// The arrays do not overlap. A null pointer: not defined for these elements.
struct ReductionKernel {
    void (*fold)(const void *in, void *inout, std::int64_t count);             ///< inout[i] = in[i] op inout[i]
    void (*join)(const void *a, const void *b, void *out, std::int64_t count); ///< out[i] = a[i] op b[i]
};

struct KernelTable {
    ReductionKernel kernels[operation_numbers][elements];
};

extern const KernelTable baseline_kernels;
#if defined(__x86_64__)
extern const KernelTable avx2_kernels;
#endif

} // namespace volley
