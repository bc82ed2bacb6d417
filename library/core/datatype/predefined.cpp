// SPDX-License-Identifier: BSD-3-Clause
/// The predefined types of the standard ABI: one table, laid out by the compiler, never constructed at run time.
#include "access.h"

#include <cfloat>
#include <cstddef>
#include <cwchar>
#include <mutex>
#include <new>
#include <utility>

namespace volley {
namespace {

using enum BasicKind;

static_assert(sizeof(long) == 8 && sizeof(void *) == 8, "external32 and the sizes below are those of LP64");

template <class C> constexpr BasicType basic(BasicKind kind, std::uint8_t external_size = sizeof(C)) {
    return {kind, sizeof(C), alignof(C), external_size};
}

/// A type C++ has no name for everywhere, aligned to its size.
constexpr BasicType sized(BasicKind kind, std::uint8_t size, std::uint8_t alignment = 0) {
    return {kind, size, alignment != 0 ? alignment : size, size};
}

/// A complex number is two reals, aligned like one.
constexpr BasicType complex_of(BasicKind kind, BasicType real) {
    return {kind, static_cast<std::uint8_t>(2 * real.size), real.alignment,
            static_cast<std::uint8_t>(2 * real.external_size)};
}

constexpr BasicType long_double = basic<long double>(extended, 16);

// Sizes in external32 are those of the standard's table, which differ from those in memory for long, unsigned
// long (4) and wchar_t (2) only; MPICH 5.0.2, asked for every type, gives the same. Types the table does not
// name (LOGICAL with a size, REAL2, COMPLEX4) keep theirs. Fortran's types have the sizes every compiler gives
// them by default.
constexpr PredefinedRow rows[] = {
    {"MPI_AINT", 0x201, basic<MPI_Aint>(signed_integer)},
    {"MPI_COUNT", 0x202, basic<MPI_Count>(signed_integer)},
    {"MPI_OFFSET", 0x203, basic<MPI_Offset>(signed_integer)},
    {"MPI_PACKED", 0x207, basic<char>(packed)},
    {"MPI_SHORT", 0x208, basic<short>(signed_integer)},
    {"MPI_INT", 0x209, basic<int>(signed_integer)},
    {"MPI_LONG", 0x20a, basic<long>(signed_integer, 4)},
    {"MPI_LONG_LONG", 0x20b, basic<long long>(signed_integer)},
    {"MPI_UNSIGNED_SHORT", 0x20c, basic<unsigned short>(unsigned_integer)},
    {"MPI_UNSIGNED", 0x20d, basic<unsigned>(unsigned_integer)},
    {"MPI_UNSIGNED_LONG", 0x20e, basic<unsigned long>(unsigned_integer, 4)},
    {"MPI_UNSIGNED_LONG_LONG", 0x20f, basic<unsigned long long>(unsigned_integer)},
    {"MPI_FLOAT", 0x210, basic<float>(floating)},
    {"MPI_C_FLOAT_COMPLEX", 0x212, complex_of(complex, basic<float>(floating))},
    {"MPI_CXX_FLOAT_COMPLEX", 0x213, complex_of(complex, basic<float>(floating))},
    {"MPI_DOUBLE", 0x214, basic<double>(floating)},
    {"MPI_C_DOUBLE_COMPLEX", 0x216, complex_of(complex, basic<double>(floating))},
    {"MPI_CXX_DOUBLE_COMPLEX", 0x217, complex_of(complex, basic<double>(floating))},
    {"MPI_LOGICAL", 0x218, sized(logical, 4)},
    {"MPI_INTEGER", 0x219, sized(signed_integer, 4)},
    {"MPI_REAL", 0x21a, sized(floating, 4)},
    {"MPI_COMPLEX", 0x21b, complex_of(complex, sized(floating, 4))},
    {"MPI_DOUBLE_PRECISION", 0x21c, sized(floating, 8)},
    {"MPI_DOUBLE_COMPLEX", 0x21d, complex_of(complex, sized(floating, 8))},
    {"MPI_CHARACTER", 0x21e, sized(character, 1)},
    {"MPI_LONG_DOUBLE", 0x220, long_double},
    {"MPI_C_LONG_DOUBLE_COMPLEX", 0x224, complex_of(extended_complex, long_double)},
    {"MPI_CXX_LONG_DOUBLE_COMPLEX", 0x225, complex_of(extended_complex, long_double)},
    {"MPI_FLOAT_INT", 0x228, {}, {0x210, 0x209}},
    {"MPI_DOUBLE_INT", 0x229, {}, {0x214, 0x209}},
    {"MPI_LONG_INT", 0x22a, {}, {0x20a, 0x209}},
    {"MPI_2INT", 0x22b, {}, {0x209, 0x209}},
    {"MPI_SHORT_INT", 0x22c, {}, {0x208, 0x209}},
    {"MPI_LONG_DOUBLE_INT", 0x22d, {}, {0x220, 0x209}},
    {"MPI_2REAL", 0x230, {}, {0x21a, 0x21a}},
    {"MPI_2DOUBLE_PRECISION", 0x231, {}, {0x21c, 0x21c}},
    {"MPI_2INTEGER", 0x232, {}, {0x219, 0x219}},
    {"MPI_C_BOOL", 0x238, basic<bool>(logical)},
    {"MPI_CXX_BOOL", 0x239, basic<bool>(logical)},
    {"MPI_WCHAR", 0x23c, basic<wchar_t>(wide_character, 2)},
    {"MPI_INT8_T", 0x240, sized(signed_integer, 1)},
    {"MPI_UINT8_T", 0x241, sized(unsigned_integer, 1)},
    {"MPI_CHAR", 0x243, sized(character, 1)},
    {"MPI_SIGNED_CHAR", 0x244, sized(signed_integer, 1)},
    {"MPI_UNSIGNED_CHAR", 0x245, sized(unsigned_integer, 1)},
    {"MPI_BYTE", 0x247, sized(byte, 1)},
    {"MPI_INT16_T", 0x248, sized(signed_integer, 2)},
    {"MPI_UINT16_T", 0x249, sized(unsigned_integer, 2)},
    {"MPI_INT32_T", 0x250, sized(signed_integer, 4)},
    {"MPI_UINT32_T", 0x251, sized(unsigned_integer, 4)},
    {"MPI_INT64_T", 0x258, sized(signed_integer, 8)},
    {"MPI_UINT64_T", 0x259, sized(unsigned_integer, 8)},
    {"MPI_LOGICAL1", 0x2c0, sized(logical, 1)},
    {"MPI_INTEGER1", 0x2c1, sized(signed_integer, 1)},
    {"MPI_LOGICAL2", 0x2c8, sized(logical, 2)},
    {"MPI_INTEGER2", 0x2c9, sized(signed_integer, 2)},
    {"MPI_REAL2", 0x2ca, sized(floating, 2)},
    {"MPI_LOGICAL4", 0x2d0, sized(logical, 4)},
    {"MPI_INTEGER4", 0x2d1, sized(signed_integer, 4)},
    {"MPI_REAL4", 0x2d2, sized(floating, 4)},
    {"MPI_COMPLEX4", 0x2d3, complex_of(complex, sized(floating, 2))},
    {"MPI_LOGICAL8", 0x2d8, sized(logical, 8)},
    {"MPI_INTEGER8", 0x2d9, sized(signed_integer, 8)},
    {"MPI_REAL8", 0x2da, sized(floating, 8)},
    {"MPI_COMPLEX8", 0x2db, complex_of(complex, sized(floating, 4))},
    {"MPI_LOGICAL16", 0x2e0, sized(logical, 16)},
    {"MPI_INTEGER16", 0x2e1, sized(signed_integer, 16)},
    {"MPI_REAL16", 0x2e2, sized(floating, 16)},
    {"MPI_COMPLEX16", 0x2e3, complex_of(complex, sized(floating, 8))},
    {"MPI_COMPLEX32", 0x2eb, complex_of(complex, sized(floating, 16))},
};

constexpr std::size_t row_count = std::size(rows);

constexpr const PredefinedRow &row_of(std::uint16_t handle) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < row_count; ++i)
        if (rows[i].handle == handle) found = i;
    return rows[found];
}

constexpr Count round_up(Count value, Count multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

constexpr Count second_displacement(const PredefinedRow &row) {
    return round_up(row_of(row.pair[0]).basic.size, row_of(row.pair[1]).basic.alignment);
}

constexpr Extents extents_of(const BasicType &type) {
    Extents extents;
    extents.size = extents.true_ub = extents.natural_ub = type.size;
    extents.elements = 1;
    extents.external_size = type.external_size;
    extents.alignment = type.alignment;
    extents.signature = signature::element(type.signature_code());
    return extents;
}

/// A pair lies in memory like a struct of its two elements.
constexpr Extents extents_of(const PredefinedRow &row) {
    if (row.pair[0] == 0) return extents_of(row.basic);
    Extents first = extents_of(row_of(row.pair[0]).basic);
    Extents second = extents_of(row_of(row.pair[1]).basic);
    Extents extents;
    extents.size = first.size + second.size;
    extents.elements = 2;
    extents.external_size = first.external_size + second.external_size;
    extents.true_ub = second_displacement(row) + second.size;
    extents.alignment = first.alignment > second.alignment ? first.alignment : second.alignment;
    extents.natural_ub = round_up(extents.true_ub, extents.alignment);
    extents.signature = signature::concatenate(first.signature, second.signature);
    return extents;
}

/// The plan of a predefined type: one block, or two for a pair with a hole in it.
struct PredefinedPlan {
    DatatypePlan head;
    PlanNode root;
    ListEntry entries[3];
};

constexpr PredefinedPlan plan_of(const PredefinedRow &row) {
    Extents extents = extents_of(row);
    PredefinedPlan plan{};
    plan.head.bytes = sizeof plan;
    plan.head.size = extents.size;
    plan.head.extent = extents.ub();
    plan.head.root = offsetof(PredefinedPlan, root);
    plan.head.nodes = plan.head.blocks = plan.head.runs = 1;
    plan.head.uniform_block = extents.size;
    plan.root.kind = NodeKind::block;
    plan.root.size = extents.size;
    if (extents.size != extents.true_ub) {
        plan.head.blocks = plan.head.runs = 2;
        plan.head.uniform_block = 0;
        plan.root.kind = NodeKind::list;
        plan.root.count = 2;
        plan.root.table = offsetof(PredefinedPlan, entries);
        plan.entries[1] = {second_displacement(row), row_of(row.pair[0]).basic.size};
        plan.entries[2] = {0, extents.size};
    }
    return plan;
}

template <std::size_t... i> constexpr auto make_plans(std::index_sequence<i...>) {
    return std::array<PredefinedPlan, sizeof...(i)>{plan_of(rows[i])...};
}

constexpr auto plans = make_plans(std::make_index_sequence<row_count>());

/// The table behind from_handle(): the low nine bits of a handle give the row, 0 means none.
constexpr std::array<std::uint8_t, 512> make_rows_by_handle() {
    std::array<std::uint8_t, 512> table{};
    for (std::size_t i = 0; i < row_count; ++i) table[rows[i].handle & 0x1ff] = static_cast<std::uint8_t>(i + 1);
    return table;
}

constexpr auto rows_by_handle = make_rows_by_handle();
static_assert(row_count < 256);

} // namespace

constexpr Datatype::Datatype(const PredefinedRow &row, const Extents &extents, Count second_displacement,
                             const DatatypePlan &plan)
    : mark_(live_mark), predefined_(true), handle_(row.handle), basic_(row.basic),
      most_elements_(extents.most_elements()), extents_(extents), pair_{row.pair[0], row.pair[1]},
      second_displacement_(second_displacement), plan_(&plan) {
    for (std::size_t i = 0; row.name[i] != '\0'; ++i) name_[i] = row.name[i];
}

/// The Datatype objects of the table above.
struct Datatype::Access::Predefined {
    Datatype types[row_count];

    template <std::size_t... i> static constexpr Predefined make(std::index_sequence<i...>) {
        return {{Datatype(rows[i], extents_of(rows[i]), rows[i].pair[0] != 0 ? second_displacement(rows[i]) : 0,
                          plans[i].head)...}};
    }

    static Predefined table;
};

constinit Datatype::Access::Predefined Datatype::Access::Predefined::table =
    Datatype::Access::Predefined::make(std::make_index_sequence<row_count>());

Datatype *Datatype::Access::predefined(std::uintptr_t handle) {
    if ((handle & ~std::uintptr_t{0x1ff}) != 0x200) return nullptr;
    std::uint8_t row = rows_by_handle[handle & 0x1ff];
    return row != 0 ? &Predefined::table.types[row - 1u] : nullptr;
}

namespace {

Datatype &predefined(MPI_Datatype handle) {
    return *Datatype::from_handle(handle);
}

/// A type of MPI_Type_create_f90_...: predefined, nameless, one per pair of arguments, kept for ever.
struct F90Type {
    int combiner;
    int arguments[2];
    Datatype *datatype;
    F90Type *next;
};

constinit std::mutex f90_mutex;
constinit F90Type *f90_types = nullptr;

Outcome find_f90(int combiner, int precision, int range, MPI_Datatype like, Datatype *&found) {
    std::lock_guard lock(f90_mutex);
    for (F90Type *type = f90_types; type != nullptr; type = type->next)
        if (type->combiner == combiner && type->arguments[0] == precision && type->arguments[1] == range) {
            found = type->datatype;
            return {};
        }
    Envelope envelope;
    envelope.combiner = combiner;
    envelope.integers = combiner == MPI_COMBINER_F90_INTEGER ? 1 : 2;
    auto *entry = new (std::nothrow) F90Type{combiner, {precision, range}, nullptr, f90_types};
    if (entry == nullptr) return failure(MPI_ERR_NO_MEM, "no memory for a Fortran datatype");
    Datatype *made = nullptr;
    Outcome outcome = Datatype::Access::create(envelope, CountForm::classic, made);
    if (!outcome.ok()) {
        delete entry;
        return outcome;
    }
    if (combiner == MPI_COMBINER_F90_INTEGER) {
        Datatype::Access::arguments(*made)[0] = range;
    } else {
        Datatype::Access::arguments(*made)[0] = precision;
        Datatype::Access::arguments(*made)[1] = range;
    }
    Datatype::Access::set_realisation(*made, predefined(like));
    Datatype::Access::set_basic(*made, predefined(like).basic());
    outcome = Datatype::Access::describe(*made);
    if (outcome.ok()) outcome = made->commit();
    if (!outcome.ok()) {
        made->release();
        delete entry;
        return outcome;
    }
    Datatype::Access::set_predefined(*made);
    entry->datatype = found = made;
    f90_types = entry;
    return {};
}

/// Fortran's real kinds on this machine: decimal digits, decimal exponent range, and what to send them as.
/// Between 15 and 18 digits gfortran and flang choose the x87's format where there is one.
struct RealKind {
    int precision;
    int range;
    MPI_Datatype real;
    MPI_Datatype complex;
};

template <class Select> Outcome find_real_kind(const char *function, int precision, int range, Select select) {
    const RealKind kinds[] = {
        {6, 37, MPI_REAL4, MPI_COMPLEX8},
        {15, 307, MPI_REAL8, MPI_COMPLEX16},
#if LDBL_MANT_DIG == 64
        {18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
#endif
        {33, 4931, MPI_REAL16, MPI_COMPLEX32},
    };
    if (precision == MPI_UNDEFINED && range == MPI_UNDEFINED)
        return failure(MPI_ERR_ARG, "%s: precision and range may not both be MPI_UNDEFINED", function);
    for (const RealKind &kind : kinds)
        if ((precision == MPI_UNDEFINED || precision <= kind.precision) &&
            (range == MPI_UNDEFINED || range <= kind.range))
            return select(kind);
    return failure(MPI_ERR_ARG, "%s: no real kind has %d digits and a range of %d (at most 33 and 4931)", function,
                   precision, range);
}

} // namespace

Outcome find_f90_real(int precision, int range, Datatype *&found) {
    return find_real_kind("MPI_Type_create_f90_real", precision, range, [&](const RealKind &kind) {
        return find_f90(MPI_COMBINER_F90_REAL, precision, range, kind.real, found);
    });
}

Outcome find_f90_complex(int precision, int range, Datatype *&found) {
    return find_real_kind("MPI_Type_create_f90_complex", precision, range, [&](const RealKind &kind) {
        return find_f90(MPI_COMBINER_F90_COMPLEX, precision, range, kind.complex, found);
    });
}

Outcome find_f90_integer(int range, Datatype *&found) {
    constexpr std::pair<int, std::uint16_t> kinds[] = {{2, 0x2c1}, {4, 0x2c9}, {9, 0x2d1}, {18, 0x2d9}, {38, 0x2e1}};
    for (auto [digits, handle] : kinds)
        if (range <= digits)
            return find_f90(MPI_COMBINER_F90_INTEGER, 0, range,
                            reinterpret_cast<MPI_Datatype>(static_cast<std::uintptr_t>(handle)), found);
    return failure(MPI_ERR_ARG, "MPI_Type_create_f90_integer: no integer kind has a range of %d (at most 38)", range);
}

Outcome find_by_size(int type_class, int size_bytes, Datatype *&found) {
    BasicKind wanted = none;
    if (type_class == MPI_TYPECLASS_INTEGER) wanted = signed_integer;
    if (type_class == MPI_TYPECLASS_REAL) wanted = floating;
    if (type_class == MPI_TYPECLASS_COMPLEX) wanted = complex;
    if (wanted == none)
        return failure(MPI_ERR_ARG,
                       "MPI_Type_match_size: type class is %d, but must be MPI_TYPECLASS_INTEGER, _REAL or _COMPLEX",
                       type_class);
    // Fortran's types with a size in their name are those with handles 0x2c0 to 0x2ef.
    for (const PredefinedRow &row : rows)
        if (row.handle >= 0x2c0 && row.basic.kind == wanted && row.basic.size == size_bytes) {
            found = Datatype::Access::predefined(row.handle);
            return {};
        }
    return failure(MPI_ERR_ARG, "MPI_Type_match_size: there is no type of this class with %d bytes", size_bytes);
}

Outcome find_value_index(Datatype &value_type, Datatype &index_type, Datatype *&found) {
    found = nullptr;
    for (const PredefinedRow &row : rows)
        if (row.pair[0] != 0 && Datatype::Access::predefined(row.pair[0]) == &value_type &&
            Datatype::Access::predefined(row.pair[1]) == &index_type)
            found = Datatype::Access::predefined(row.handle);
    return {};
}

} // namespace volley
