// SPDX-License-Identifier: BSD-3-Clause
/// The loops behind operation_kernels.h, as templates. Everything is in an unnamed namespace, and nothing of the
/// standard library is called: a file compiled for a better processor must not lend its code to others.
#pragma once

#include "core/operation_kernels.h"

#include <cstdint>

namespace volley {
namespace {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;
__extension__ using float16 = _Float16;
__extension__ using float128 = __float128;

template <class Real> struct Complex {
    Real real, imaginary;
};

template <class Value, class Index> struct Pair {
    Value value;
    Index index;
};

struct Sum {
    template <class Type> static Type of(Type a, Type b) {
        return static_cast<Type>(a + b);
    }
    template <class Real> static Complex<Real> of(Complex<Real> a, Complex<Real> b) {
        return {static_cast<Real>(a.real + b.real), static_cast<Real>(a.imaginary + b.imaginary)};
    }
};

struct Product {
    template <class Type> static Type of(Type a, Type b) {
        return static_cast<Type>(a * b);
    }
    /// Without the promotion to int, whose overflow is undefined.
    static std::uint16_t of(std::uint16_t a, std::uint16_t b) {
        return static_cast<std::uint16_t>(std::uint32_t{a} * b);
    }
    template <class Real> static Complex<Real> of(Complex<Real> a, Complex<Real> b) {
        return {static_cast<Real>(a.real * b.real - a.imaginary * b.imaginary),
                static_cast<Real>(a.real * b.imaginary + a.imaginary * b.real)};
    }
};

struct Minimum {
    template <class Type> static Type of(Type a, Type b) {
        return a < b ? a : b;
    }
};

struct Maximum {
    template <class Type> static Type of(Type a, Type b) {
        return a > b ? a : b;
    }
};

struct BitAnd {
    template <class Type> static Type of(Type a, Type b) {
        return static_cast<Type>(a & b);
    }
};

struct BitOr {
    template <class Type> static Type of(Type a, Type b) {
        return static_cast<Type>(a | b);
    }
};

struct BitXor {
    template <class Type> static Type of(Type a, Type b) {
        return static_cast<Type>(a ^ b);
    }
};

struct LogicalAnd {
    template <class Type> static Type of(Type a, Type b) {
        return static_cast<Type>((a != 0) & (b != 0));
    }
};

struct LogicalOr {
    template <class Type> static Type of(Type a, Type b) {
        return static_cast<Type>((a | b) != 0);
    }
};

struct LogicalXor {
    template <class Type> static Type of(Type a, Type b) {
        return static_cast<Type>((a != 0) != (b != 0));
    }
};

/// Of equal values, the lower index (section 6.9.4).
struct MinimumLocation {
    template <class Value, class Index> static Pair<Value, Index> of(Pair<Value, Index> a, Pair<Value, Index> b) {
        if (a.value == b.value) return {a.value, a.index < b.index ? a.index : b.index};
        return a.value < b.value ? a : b;
    }
};

struct MaximumLocation {
    template <class Value, class Index> static Pair<Value, Index> of(Pair<Value, Index> a, Pair<Value, Index> b) {
        if (a.value == b.value) return {a.value, a.index < b.index ? a.index : b.index};
        return a.value > b.value ? a : b;
    }
};

template <class Operator, class Type> void fold(const void *in, void *inout, std::int64_t count) {
    const auto *__restrict source = static_cast<const Type *>(in);
    auto *__restrict target = static_cast<Type *>(inout);
    for (std::int64_t i = 0; i < count; ++i) target[i] = Operator::of(source[i], target[i]);
}

template <class Operator, class Type> void join(const void *a, const void *b, void *out, std::int64_t count) {
    const auto *__restrict first = static_cast<const Type *>(a);
    const auto *__restrict second = static_cast<const Type *>(b);
    auto *__restrict target = static_cast<Type *>(out);
    for (std::int64_t i = 0; i < count; ++i) target[i] = Operator::of(first[i], second[i]);
}

class TableMaker {
  public:
    KernelTable table{};

    constexpr TableMaker() {
        // Wrapping is the same for signed and unsigned numbers, and defined for the latter.
        arithmetic<Sum>(0x01);
        arithmetic<Product>(0x04);
        ordered<Minimum>(0x02);
        ordered<Maximum>(0x03);
        bitwise<BitAnd>(0x08);
        bitwise<BitOr>(0x09);
        bitwise<BitXor>(0x0a);
        logical<LogicalAnd>(0x10);
        logical<LogicalOr>(0x11);
        logical<LogicalXor>(0x12);
        located<MinimumLocation>(0x18);
        located<MaximumLocation>(0x19);
    }

  private:
    template <class Operator, class Type> constexpr void set(int number, Element element) {
        table.kernels[number][static_cast<int>(element)] = {fold<Operator, Type>, join<Operator, Type>};
    }

    template <class Operator> constexpr void integers_by_size(int number) {
        set<Operator, std::uint8_t>(number, Element::int8);
        set<Operator, std::uint16_t>(number, Element::int16);
        set<Operator, std::uint32_t>(number, Element::int32);
        set<Operator, std::uint64_t>(number, Element::int64);
        set<Operator, uint128>(number, Element::int128);
        set<Operator, std::uint8_t>(number, Element::uint8);
        set<Operator, std::uint16_t>(number, Element::uint16);
        set<Operator, std::uint32_t>(number, Element::uint32);
        set<Operator, std::uint64_t>(number, Element::uint64);
    }

    template <class Operator> constexpr void floating(int number) {
        set<Operator, float16>(number, Element::float16);
        set<Operator, float>(number, Element::float32);
        set<Operator, double>(number, Element::float64);
        set<Operator, long double>(number, Element::float80);
        set<Operator, float128>(number, Element::float128);
    }

    template <class Operator> constexpr void arithmetic(int number) {
        integers_by_size<Operator>(number);
        floating<Operator>(number);
        set<Operator, Complex<float16>>(number, Element::complex16);
        set<Operator, Complex<float>>(number, Element::complex32);
        set<Operator, Complex<double>>(number, Element::complex64);
        set<Operator, Complex<long double>>(number, Element::complex80);
        set<Operator, Complex<float128>>(number, Element::complex128);
    }

    template <class Operator> constexpr void ordered(int number) {
        integers_by_size<Operator>(number);
        set<Operator, std::int8_t>(number, Element::int8);
        set<Operator, std::int16_t>(number, Element::int16);
        set<Operator, std::int32_t>(number, Element::int32);
        set<Operator, std::int64_t>(number, Element::int64);
        set<Operator, int128>(number, Element::int128);
        floating<Operator>(number);
    }

    template <class Operator> constexpr void bitwise(int number) {
        integers_by_size<Operator>(number);
        set<Operator, std::uint8_t>(number, Element::byte);
    }

    template <class Operator> constexpr void logical(int number) {
        integers_by_size<Operator>(number);
        set<Operator, std::uint8_t>(number, Element::logical8);
        set<Operator, std::uint16_t>(number, Element::logical16);
        set<Operator, std::uint32_t>(number, Element::logical32);
        set<Operator, std::uint64_t>(number, Element::logical64);
        set<Operator, uint128>(number, Element::logical128);
    }

    template <class Operator> constexpr void located(int number) {
        set<Operator, Pair<short, int>>(number, Element::short_int);
        set<Operator, Pair<int, int>>(number, Element::int_int);
        set<Operator, Pair<long, int>>(number, Element::long_int);
        set<Operator, Pair<float, int>>(number, Element::float_int);
        set<Operator, Pair<double, int>>(number, Element::double_int);
        set<Operator, Pair<long double, int>>(number, Element::long_double_int);
        set<Operator, Pair<float, float>>(number, Element::float_float);
        set<Operator, Pair<double, double>>(number, Element::double_double);
    }
};

} // namespace
} // namespace volley
