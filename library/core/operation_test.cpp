// SPDX-License-Identifier: BSD-3-Clause
/// Every predefined operation with every predefined type, against a plain model, for both sets of loops.
#include "core/operation.h"

#include "core/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace volley {
namespace {

__extension__ using Int128 = __int128;
__extension__ using Float16 = _Float16;
__extension__ using Float128 = __float128;

std::mt19937 generator(5);

template <class Type> Type small_value() {
    return static_cast<Type>(std::uniform_int_distribution<int>(0, 7)(generator) - (Type(-1) < Type(0) ? 3 : 0));
}

template <class Type> struct Random {
    static Type make() {
        return small_value<Type>();
    }
};
template <> struct Random<bool> {
    static bool make() {
        return generator() % 2 != 0;
    }
};
template <class Real> struct Random<std::complex<Real>> {
    static std::complex<Real> make() {
        return {small_value<Real>(), small_value<Real>()};
    }
};
template <class Value, class Index> struct ValueIndex {
    Value value;
    Index index;
    bool operator==(const ValueIndex &) const = default;
};
template <class Value, class Index> struct Random<ValueIndex<Value, Index>> {
    static ValueIndex<Value, Index> make() {
        ValueIndex<Value, Index> pair;
        std::memset(static_cast<void *>(&pair), 0, sizeof pair);
        pair.value = small_value<Value>();
        pair.index = small_value<Index>();
        return pair;
    }
};

template <class Type> using Model = std::function<Type(Type, Type)>;

constexpr int lengths[] = {0, 1, 2, 3, 7, 16, 33, 100, 1025};

/// a op b by the model, by Reduction and by each table of loops.
template <class Type> void check(MPI_Op handle, MPI_Datatype type_handle, const Model<Type> &model) {
    Operation &operation = *Operation::from_handle(handle);
    Datatype &type = *Datatype::from_handle(type_handle);
    SCOPED_TRACE(std::string(operation.name()) + " with " + std::string(type.name()));
    ASSERT_EQ(type.extent(), static_cast<Count>(sizeof(Type)));
    ASSERT_TRUE(applies(operation, type));
    Reduction reduction(operation, type);
    ASSERT_TRUE(reduction.is_predefined());
    std::vector<const KernelTable *> tables = {&baseline_kernels};
    if (__builtin_cpu_supports("avx2")) tables.push_back(&avx2_kernels);
    for (int length : lengths) {
        auto count = static_cast<std::size_t>(length);
        auto a = std::make_unique<Type[]>(count + 1), b = std::make_unique<Type[]>(count + 1);
        auto out = std::make_unique<Type[]>(count + 1);
        auto expect = [&](const Type *result) {
            for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(result[i] == model(a[i], b[i])) << "element " << i;
        };
        for (std::size_t i = 0; i < count; ++i) {
            a[i] = Random<Type>::make();
            b[i] = Random<Type>::make();
        }
        for (const KernelTable *table : tables) {
            const ReductionKernel &kernel = table->kernels[operation.number()][static_cast<int>(element_of(type))];
            kernel.join(a.get(), b.get(), out.get(), length);
            expect(out.get());
            for (std::size_t i = 0; i < count; ++i) out[i] = b[i];
            kernel.fold(a.get(), out.get(), length);
            expect(out.get());
        }
        const void *sources[] = {a.get(), b.get()};
        for (std::size_t i = 0; i < count; ++i) out[i] = Type{};
        reduction.join_all(sources, 2, out.get(), length);
        expect(out.get());
    }
}

template <class Type> void check_arithmetic(MPI_Datatype type) {
    check<Type>(MPI_SUM, type, [](Type a, Type b) { return static_cast<Type>(a + b); });
    check<Type>(MPI_PROD, type, [](Type a, Type b) { return static_cast<Type>(a * b); });
}

template <class Type> void check_order(MPI_Datatype type) {
    check<Type>(MPI_MIN, type, [](Type a, Type b) { return b < a ? b : a; });
    check<Type>(MPI_MAX, type, [](Type a, Type b) { return a < b ? b : a; });
}

template <class Type> void check_bits(MPI_Datatype type) {
    check<Type>(MPI_BAND, type, [](Type a, Type b) { return static_cast<Type>(a & b); });
    check<Type>(MPI_BOR, type, [](Type a, Type b) { return static_cast<Type>(a | b); });
    check<Type>(MPI_BXOR, type, [](Type a, Type b) { return static_cast<Type>(a ^ b); });
}

template <class Type> void check_logical(MPI_Datatype type) {
    check<Type>(MPI_LAND, type, [](Type a, Type b) { return static_cast<Type>(a && b); });
    check<Type>(MPI_LOR, type, [](Type a, Type b) { return static_cast<Type>(a || b); });
    check<Type>(MPI_LXOR, type, [](Type a, Type b) { return static_cast<Type>(!a != !b); });
}

template <class Type> void check_integer(MPI_Datatype type) {
    check_arithmetic<Type>(type);
    check_order<Type>(type);
    check_bits<Type>(type);
    check_logical<Type>(type);
}

template <class Type> void check_floating(MPI_Datatype type) {
    check_arithmetic<Type>(type);
    check_order<Type>(type);
}

template <class Value, class Index> void check_pair(MPI_Datatype type) {
    using Pair = ValueIndex<Value, Index>;
    auto better = [](Pair a, Pair b, bool a_wins) {
        if (a.value == b.value) return a.index < b.index ? a : b;
        return a_wins ? a : b;
    };
    check<Pair>(MPI_MINLOC, type, [=](Pair a, Pair b) { return better(a, b, a.value < b.value); });
    check<Pair>(MPI_MAXLOC, type, [=](Pair a, Pair b) { return better(a, b, b.value < a.value); });
}

TEST(Operation, Integers) {
    check_integer<signed char>(MPI_SIGNED_CHAR);
    check_integer<unsigned char>(MPI_UNSIGNED_CHAR);
    check_integer<short>(MPI_SHORT);
    check_integer<unsigned short>(MPI_UNSIGNED_SHORT);
    check_integer<int>(MPI_INT);
    check_integer<unsigned>(MPI_UNSIGNED);
    check_integer<long>(MPI_LONG);
    check_integer<unsigned long>(MPI_UNSIGNED_LONG);
    check_integer<long long>(MPI_LONG_LONG);
    check_integer<unsigned long long>(MPI_UNSIGNED_LONG_LONG);
    check_integer<std::int8_t>(MPI_INT8_T);
    check_integer<std::int16_t>(MPI_INT16_T);
    check_integer<std::int32_t>(MPI_INT32_T);
    check_integer<std::int64_t>(MPI_INT64_T);
    check_integer<std::uint8_t>(MPI_UINT8_T);
    check_integer<std::uint16_t>(MPI_UINT16_T);
    check_integer<std::uint32_t>(MPI_UINT32_T);
    check_integer<std::uint64_t>(MPI_UINT64_T);
    check_integer<MPI_Aint>(MPI_AINT);
    check_integer<MPI_Count>(MPI_COUNT);
    check_integer<MPI_Offset>(MPI_OFFSET);
    check_integer<std::int32_t>(MPI_INTEGER);
    check_integer<std::int8_t>(MPI_INTEGER1);
    check_integer<std::int16_t>(MPI_INTEGER2);
    check_integer<std::int32_t>(MPI_INTEGER4);
    check_integer<std::int64_t>(MPI_INTEGER8);
    check_integer<Int128>(MPI_INTEGER16);
}

/// Not of the standard, which has characters for text only; but every other MPI computes, and programs rely on it.
TEST(Operation, CharactersAreIntegers) {
    check_integer<char>(MPI_CHAR);
    check_integer<wchar_t>(MPI_WCHAR);
    char low[] = {-1}, high[] = {1};
    Reduction(*Operation::from_handle(MPI_MAX), *Datatype::from_handle(MPI_CHAR)).fold(low, high, 1);
    EXPECT_EQ(high[0], std::max(low[0], char{1}));
}

TEST(Operation, CheckingSaysOnceThatCharactersAreNoIntegers) {
    node.settings.checking = true;
    testing::internal::CaptureStderr();
    for (MPI_Datatype type : {MPI_CHAR, MPI_CHAR, MPI_WCHAR})
        EXPECT_EQ(check_applies(*Operation::from_handle(MPI_SUM), *Datatype::from_handle(type)), MPI_SUCCESS);
    EXPECT_EQ(check_applies(*Operation::from_handle(MPI_REPLACE), *Datatype::from_handle(MPI_CHAR)), MPI_SUCCESS);
    std::string said = testing::internal::GetCapturedStderr();
    node.settings.checking = false;
    EXPECT_NE(said.find("MPI_SUM"), std::string::npos) << said;
    EXPECT_NE(said.find("MPI_CHAR"), std::string::npos) << said;
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

TEST(Operation, FloatingPoint) {
    check_floating<float>(MPI_FLOAT);
    check_floating<double>(MPI_DOUBLE);
    check_floating<long double>(MPI_LONG_DOUBLE);
    check_floating<float>(MPI_REAL);
    check_floating<double>(MPI_DOUBLE_PRECISION);
    check_floating<Float16>(MPI_REAL2);
    check_floating<float>(MPI_REAL4);
    check_floating<double>(MPI_REAL8);
    check_floating<Float128>(MPI_REAL16);
}

TEST(Operation, Complex) {
    check_arithmetic<std::complex<float>>(MPI_C_COMPLEX);
    check_arithmetic<std::complex<float>>(MPI_C_FLOAT_COMPLEX);
    check_arithmetic<std::complex<double>>(MPI_C_DOUBLE_COMPLEX);
    check_arithmetic<std::complex<long double>>(MPI_C_LONG_DOUBLE_COMPLEX);
    check_arithmetic<std::complex<float>>(MPI_CXX_FLOAT_COMPLEX);
    check_arithmetic<std::complex<double>>(MPI_CXX_DOUBLE_COMPLEX);
    check_arithmetic<std::complex<long double>>(MPI_CXX_LONG_DOUBLE_COMPLEX);
    check_arithmetic<std::complex<float>>(MPI_COMPLEX);
    check_arithmetic<std::complex<double>>(MPI_DOUBLE_COMPLEX);
    check_arithmetic<std::complex<float>>(MPI_COMPLEX8);
    check_arithmetic<std::complex<double>>(MPI_COMPLEX16);
}

TEST(Operation, Logical) {
    check_logical<bool>(MPI_C_BOOL);
    check_logical<bool>(MPI_CXX_BOOL);
    check_logical<std::int32_t>(MPI_LOGICAL);
    check_logical<std::int8_t>(MPI_LOGICAL1);
    check_logical<std::int16_t>(MPI_LOGICAL2);
    check_logical<std::int32_t>(MPI_LOGICAL4);
    check_logical<std::int64_t>(MPI_LOGICAL8);
    check_logical<Int128>(MPI_LOGICAL16);
}

TEST(Operation, BytesAndPairs) {
    check_bits<std::uint8_t>(MPI_BYTE);
    check_pair<float, int>(MPI_FLOAT_INT);
    check_pair<double, int>(MPI_DOUBLE_INT);
    check_pair<long, int>(MPI_LONG_INT);
    check_pair<int, int>(MPI_2INT);
    check_pair<short, int>(MPI_SHORT_INT);
    check_pair<long double, int>(MPI_LONG_DOUBLE_INT);
    check_pair<float, float>(MPI_2REAL);
    check_pair<double, double>(MPI_2DOUBLE_PRECISION);
    check_pair<int, int>(MPI_2INTEGER);
}

/// The table of MPI 5.0, section 6.9.2, by kind of type, and C's characters, which are allowed as integers.
TEST(Operation, AppliesJustWhereTheStandardSays) {
    const std::set<MPI_Op> arithmetic = {MPI_SUM, MPI_PROD}, order = {MPI_MIN, MPI_MAX};
    const std::set<MPI_Op> bits = {MPI_BAND, MPI_BOR, MPI_BXOR}, logical = {MPI_LAND, MPI_LOR, MPI_LXOR};
    const std::set<MPI_Op> location = {MPI_MINLOC, MPI_MAXLOC};
    std::set<MPI_Op> all;
    for (const auto *part : {&arithmetic, &order, &bits, &logical, &location}) all.insert(part->begin(), part->end());
    for (std::uintptr_t number = 0x200; number < 0x300; ++number) {
        Datatype *type = Datatype::from_handle(reinterpret_cast<MPI_Datatype>(number));
        if (type == nullptr) continue;
        std::set<MPI_Op> allowed;
        auto allow = [&](const std::set<MPI_Op> &more) { allowed.insert(more.begin(), more.end()); };
        BasicKind kind = type->basic().kind;
        if (type->handle() == MPI_CHAR || type->handle() == MPI_WCHAR) kind = BasicKind::signed_integer;
        switch (kind) {
        case BasicKind::signed_integer:
        case BasicKind::unsigned_integer:
            allow(arithmetic);
            allow(order);
            allow(bits);
            allow(logical);
            break;
        case BasicKind::floating:
        case BasicKind::extended:
            allow(arithmetic);
            allow(order);
            break;
        case BasicKind::complex:
        case BasicKind::extended_complex:
            allow(arithmetic);
            break;
        case BasicKind::logical:
            allow(logical);
            break;
        case BasicKind::byte:
            allow(bits);
            break;
        case BasicKind::none:
            allow(location);
            break;
        default:
            break;
        }
        for (MPI_Op handle : all)
            EXPECT_EQ(applies(*Operation::from_handle(handle), *type), allowed.contains(handle))
                << Operation::from_handle(handle)->name() << " with " << type->name();
    }
}

TEST(Operation, DerivedTypesAreForUsersOperations) {
    Datatype *pair = nullptr;
    ASSERT_TRUE(make_contiguous(CountForm::classic, 2, *Datatype::from_handle(MPI_INT), pair).ok());
    EXPECT_FALSE(applies(*Operation::from_handle(MPI_SUM), *pair));
    EXPECT_EQ(check_applies(*Operation::from_handle(MPI_SUM), *pair) & 127, MPI_ERR_OP);
    Operation *own = Operation::make([](void *, void *, int *, MPI_Datatype *) {}, true);
    EXPECT_TRUE(applies(*own, *pair));
    Operation::release(*own);
    pair->release();
}

TEST(Operation, Handles) {
    EXPECT_EQ(Operation::from_handle(MPI_OP_NULL), nullptr);
    EXPECT_EQ(Operation::from_handle(MPI_SUM)->handle(), MPI_SUM);
    EXPECT_TRUE(Operation::from_handle(MPI_MAXLOC)->is_commutative());
    EXPECT_FALSE(Operation::from_handle(MPI_REPLACE)->is_commutative());
    Operation *own = Operation::make([](void *, void *, int *, MPI_Datatype *) {}, false);
    MPI_Op handle = own->handle();
    EXPECT_EQ(Operation::from_handle(handle), own);
    Operation::release(*own);
    EXPECT_EQ(Operation::from_handle(handle), nullptr);
}

TEST(Operation, UsersFunctionsOfBothForms) {
    int a[] = {1, 2, 3}, b[] = {10, 20, 30};
    Datatype &type = *Datatype::from_handle(MPI_INT);
    auto add = [](void *in, void *inout, auto *length, MPI_Datatype *datatype) {
        EXPECT_EQ(*datatype, MPI_INT);
        for (int i = 0; i < *length; ++i) static_cast<int *>(inout)[i] += static_cast<int *>(in)[i];
    };
    Operation *plain = Operation::make(static_cast<MPI_User_function *>(add), true);
    Operation *large = Operation::make(static_cast<MPI_User_function_c *>(add), true);
    Reduction(*plain, type).fold(a, b, 3);
    Reduction(*large, type).fold(a, b, 3);
    EXPECT_EQ(b[0], 12);
    EXPECT_EQ(b[2], 36);
    int out[3] = {};
    Reduction(*plain, type).join(a, b, out, 3);
    EXPECT_EQ(out[1], 26);
    Operation::release(*plain);
    Operation::release(*large);
}

TEST(Operation, ManySources) {
    std::vector<std::vector<double>> values(5, std::vector<double>(5000));
    std::vector<const void *> sources;
    for (auto &vector : values) {
        for (double &value : vector) value = small_value<int>();
        sources.push_back(vector.data());
    }
    std::vector<double> out(5000);
    Reduction reduction(*Operation::from_handle(MPI_SUM), *Datatype::from_handle(MPI_DOUBLE));
    for (int number = 1; number <= 5; ++number) {
        reduction.join_all(sources.data(), number, out.data(), 5000);
        for (std::size_t i = 0; i < out.size(); ++i) {
            double sum = 0;
            for (int k = 0; k < number; ++k) sum += values[static_cast<std::size_t>(k)][i];
            ASSERT_EQ(out[i], sum);
        }
    }
}

} // namespace
} // namespace volley
