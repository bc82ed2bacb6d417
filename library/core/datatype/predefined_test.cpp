// SPDX-License-Identifier: BSD-3-Clause
#include "typemap_model.h"

#include <complex>
#include <set>

namespace volley {
namespace {

struct Expected {
    MPI_Datatype handle;
    Count size, extent, true_extent, external_size;
};

template <class First> struct PairWithInt {
    First value;
    int index;
};

TEST(Predefined, SizesOfC) {
    const Expected all[] = {
        {MPI_CHAR, 1, 1, 1, 1},
        {MPI_WCHAR, 4, 4, 4, 2},
        {MPI_SHORT, 2, 2, 2, 2},
        {MPI_INT, 4, 4, 4, 4},
        {MPI_LONG, 8, 8, 8, 4},
        {MPI_UNSIGNED_LONG, 8, 8, 8, 4},
        {MPI_LONG_LONG, 8, 8, 8, 8},
        {MPI_AINT, 8, 8, 8, 8},
        {MPI_COUNT, 8, 8, 8, 8},
        {MPI_FLOAT, 4, 4, 4, 4},
        {MPI_LONG_DOUBLE, sizeof(long double), sizeof(long double), sizeof(long double), 16},
        {MPI_C_BOOL, 1, 1, 1, 1},
        {MPI_C_COMPLEX, 8, 8, 8, 8},
        {MPI_C_LONG_DOUBLE_COMPLEX, 32, 32, 32, 32},
        {MPI_LOGICAL, 4, 4, 4, 4},
        {MPI_REAL2, 2, 2, 2, 2},
        {MPI_COMPLEX32, 32, 32, 32, 32},
        {MPI_PACKED, 1, 1, 1, 1},
        {MPI_FLOAT_INT, 8, sizeof(PairWithInt<float>), 8, 8},
        {MPI_DOUBLE_INT, 12, sizeof(PairWithInt<double>), 12, 12},
        {MPI_LONG_INT, 12, sizeof(PairWithInt<long>), 12, 8},
        {MPI_SHORT_INT, 6, sizeof(PairWithInt<short>), 8, 6},
        {MPI_LONG_DOUBLE_INT, 20, sizeof(PairWithInt<long double>), 20, 20},
        {MPI_2INT, 8, 8, 8, 8},
        {MPI_2DOUBLE_PRECISION, 16, 16, 16, 16},
    };
    for (const Expected &expected : all) {
        const Datatype &type = predefined(expected.handle);
        EXPECT_EQ(type.size(), expected.size) << type.name();
        EXPECT_EQ(type.extent(), expected.extent) << type.name();
        EXPECT_EQ(type.true_extent(), expected.true_extent) << type.name();
        EXPECT_EQ(type.extents().external_size, expected.external_size) << type.name();
        EXPECT_EQ(type.combiner(), MPI_COMBINER_NAMED);
        EXPECT_TRUE(type.is_committed());
        EXPECT_TRUE(type.is_predefined());
    }
}

TEST(Predefined, TheAbiTellsSizes) {
    std::set<std::string_view> names;
    int known = 0;
    for (std::uintptr_t value = 0x200; value < 0x400; ++value) {
        Datatype *type = Datatype::from_handle(reinterpret_cast<MPI_Datatype>(value));
        if (type == nullptr) continue;
        ++known;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(type->handle()), value);
        EXPECT_TRUE(names.insert(type->name()).second) << type->name();
        if ((value >= 0x240 && value < 0x260) || (value >= 0x2c0 && value < 0x2f0)) {
            EXPECT_EQ(type->size(), Count{1} << ((value >> 3) & 7)) << type->name();
        }
    }
    EXPECT_EQ(known, 70);
}

TEST(Predefined, MatchSize) {
    auto match = [](int type_class, int size) {
        Datatype *found = nullptr;
        Outcome outcome = find_by_size(type_class, size, found);
        return found != nullptr ? found->handle() : MPI_DATATYPE_NULL;
    };
    EXPECT_EQ(match(MPI_TYPECLASS_INTEGER, 1), MPI_INTEGER1);
    EXPECT_EQ(match(MPI_TYPECLASS_INTEGER, 16), MPI_INTEGER16);
    EXPECT_EQ(match(MPI_TYPECLASS_REAL, 2), MPI_REAL2);
    EXPECT_EQ(match(MPI_TYPECLASS_REAL, 8), MPI_REAL8);
    EXPECT_EQ(match(MPI_TYPECLASS_COMPLEX, 8), MPI_COMPLEX8);
    EXPECT_EQ(match(MPI_TYPECLASS_COMPLEX, 32), MPI_COMPLEX32);
    EXPECT_EQ(match(MPI_TYPECLASS_REAL, 5), MPI_DATATYPE_NULL);
    EXPECT_EQ(match(77, 8), MPI_DATATYPE_NULL);
}

TEST(Predefined, FortransParameterisedTypes) {
    Datatype *real = nullptr, *again = nullptr, *other = nullptr;
    ASSERT_TRUE(find_f90_real(6, 30, real).ok());
    EXPECT_EQ(real->size(), 4);
    EXPECT_EQ(real->basic().kind, BasicKind::floating);
    EXPECT_EQ(real->name(), "");
    EXPECT_TRUE(real->is_predefined());
    EXPECT_TRUE(real->is_committed());
    ASSERT_TRUE(find_f90_real(6, 30, again).ok());
    EXPECT_EQ(real, again);
    ASSERT_TRUE(find_f90_real(15, MPI_UNDEFINED, other).ok());
    EXPECT_EQ(other->size(), 8);
    int arguments[2] = {0, 0};
    EXPECT_EQ(real->combiner(), MPI_COMBINER_F90_REAL);
    ASSERT_TRUE(real->contents(CountForm::classic, 2, 0, 0, 0, arguments, nullptr, nullptr, nullptr).ok());
    EXPECT_EQ(arguments[0], 6);
    EXPECT_EQ(arguments[1], 30);
    ASSERT_TRUE(find_f90_complex(15, 307, other).ok());
    EXPECT_EQ(other->size(), 16);
    ASSERT_TRUE(find_f90_integer(9, other).ok());
    EXPECT_EQ(other->size(), 4);
    EXPECT_EQ(other->combiner(), MPI_COMBINER_F90_INTEGER);
    ASSERT_TRUE(find_f90_integer(10, other).ok());
    EXPECT_EQ(other->size(), 8);
    EXPECT_EQ(find_f90_real(34, MPI_UNDEFINED, other).error_class, MPI_ERR_ARG);
    EXPECT_EQ(find_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, other).error_class, MPI_ERR_ARG);
    EXPECT_EQ(find_f90_integer(39, other).error_class, MPI_ERR_ARG);
    Held derived = made(make_contiguous, CountForm::classic, 3, *real);
    EXPECT_EQ(derived->extents().elements, 3);
}

TEST(Predefined, ValueIndexPairs) {
    Datatype *found = nullptr;
    ASSERT_TRUE(find_value_index(predefined(MPI_DOUBLE), predefined(MPI_INT), found).ok());
    EXPECT_EQ(found, &predefined(MPI_DOUBLE_INT));
    ASSERT_TRUE(find_value_index(predefined(MPI_INT), predefined(MPI_INT), found).ok());
    EXPECT_EQ(found, &predefined(MPI_2INT));
    ASSERT_TRUE(find_value_index(predefined(MPI_INT), predefined(MPI_FLOAT), found).ok());
    EXPECT_EQ(found, nullptr);
}

} // namespace
} // namespace volley
