// SPDX-License-Identifier: BSD-3-Clause
#include "core/operation.h"

#include "core/engine.h"
#include "core/error.h"
#include "layout/copy.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <utility>

namespace volley {
namespace {

constexpr std::uintptr_t first_handle = 0x20;

struct PredefinedRow {
    int number;
    const char *name;
};

constexpr PredefinedRow rows[] = {
    {0x01, "MPI_SUM"},
    {0x02, "MPI_MIN"},
    {0x03, "MPI_MAX"},
    {0x04, "MPI_PROD"},
    {0x08, "MPI_BAND"},
    {0x09, "MPI_BOR"},
    {0x0a, "MPI_BXOR"},
    {0x10, "MPI_LAND"},
    {0x11, "MPI_LOR"},
    {0x12, "MPI_LXOR"},
    {0x18, "MPI_MINLOC"},
    {0x19, "MPI_MAXLOC"},
    {Operation::replace_number, "MPI_REPLACE"},
    {Operation::no_op_number, "MPI_NO_OP"},
};

/// The predefined operations, never destroyed: programs may use them until their very end.
struct Predefined {
    Operation *by_number[operation_numbers] = {};

    Predefined() {
        for (const PredefinedRow &row : rows)
            by_number[row.number] = new Operation(row.number, row.name, row.number < Operation::replace_number);
    }
};

const Predefined &predefined() {
    static const Predefined made;
    return made;
}

Pool<Operation> &pool() {
    static auto *made = new Pool<Operation>;
    return *made;
}

const KernelTable &kernels() {
#if defined(__x86_64__)
    static const KernelTable &best = __builtin_cpu_supports("avx2") ? avx2_kernels : baseline_kernels;
    return best;
#else
    return baseline_kernels;
#endif
}

/// The element of this size among several whose sizes double from one to the next.
Element by_size(Element smallest, int smallest_size, int size) {
    auto element = static_cast<int>(smallest);
    for (int each = smallest_size; each < size; each *= 2) element++;
    return static_cast<Element>(element);
}

Element pair_element(std::uintptr_t handle) {
    switch (handle) {
    case 0x228:
        return Element::float_int;
    case 0x229:
        return Element::double_int;
    case 0x22a:
        return Element::long_int;
    case 0x22b:
        return Element::int_int;
    case 0x22c:
        return Element::short_int;
    case 0x22d:
        return Element::long_double_int;
    case 0x230:
        return Element::float_float;
    case 0x231:
        return Element::double_double;
    case 0x232:
        return Element::int_int;
    default:
        return Element::none;
    }
}

/// C's characters, which the standard has for text only. Other MPIs compute with them, and programs rely on it.
bool is_c_character(const Datatype &datatype) {
    MPI_Datatype handle = const_cast<Datatype &>(datatype).handle();
    return handle == MPI_CHAR || handle == MPI_WCHAR;
}

/// Once per process, in checking mode.
void warn_of_character(const Operation &operation, const Datatype &datatype) {
    static bool warned = false;
    if (std::exchange(warned, true)) return;
    std::fprintf(stderr,
                 "Volley: rank %d: %s is applied to %s, which MPI does not allow: use %s, as another MPI may refuse "
                 "it\n",
                 node.rank, operation.name(), datatype.size() == 1 ? "MPI_CHAR" : "MPI_WCHAR",
                 datatype.size() == 1 ? "MPI_SIGNED_CHAR or MPI_UNSIGNED_CHAR" : "an integer type such as MPI_INT32_T");
}

/// Pieces for join_all: half of a small first-level cache, so that result and source stay there.
constexpr Count piece_bytes = 8192;

} // namespace

Operation::Operation(int number, const char *name, bool commutative)
    : Object(Mark::operation), number_(number), commutative_(commutative), name_(name) {}

Operation::Operation(MPI_User_function *function, MPI_User_function_c *large, bool commutative)
    : Object(Mark::operation), commutative_(commutative), function_(function), large_function_(large) {}

Operation *Operation::make(MPI_User_function *function, bool commutative) {
    return pool().make(function, nullptr, commutative);
}

Operation *Operation::make(MPI_User_function_c *function, bool commutative) {
    return pool().make(nullptr, function, commutative);
}

Operation *Operation::from_handle(MPI_Op handle) {
    auto number = reinterpret_cast<std::uintptr_t>(handle);
    if (number >= first_object) return object_of<Operation>(handle);
    if (number - first_handle >= operation_numbers) return nullptr;
    return predefined().by_number[number - first_handle];
}

MPI_Op Operation::handle() {
    if (!is_predefined()) return reinterpret_cast<MPI_Op>(this);
    return reinterpret_cast<MPI_Op>(first_handle + static_cast<std::uintptr_t>(number_));
}

void Operation::release(Operation &operation) {
    if (!operation.is_predefined() && operation.Object::release()) pool().destroy(&operation);
}

Element element_of(const Datatype &datatype) {
    // MPI_Type_create_f90_... makes types with a basic element as well; others that a program makes are not for
    // predefined operations, even if they consist of one element.
    if (!datatype.is_predefined()) return Element::none;
    const BasicType &basic = datatype.basic();
    switch (basic.kind) {
    case BasicKind::signed_integer:
        return by_size(Element::int8, 1, basic.size);
    case BasicKind::unsigned_integer:
        return by_size(Element::uint8, 1, basic.size);
    case BasicKind::floating:
        return basic.size == 16 ? Element::float128 : by_size(Element::float16, 2, basic.size);
    case BasicKind::extended:
        return Element::float80;
    case BasicKind::complex:
        return basic.size == 32 ? Element::complex128 : by_size(Element::complex16, 4, basic.size);
    case BasicKind::extended_complex:
        return Element::complex80;
    case BasicKind::logical:
        return by_size(Element::logical8, 1, basic.size);
    case BasicKind::byte:
        return Element::byte;
    case BasicKind::none:
        return pair_element(reinterpret_cast<std::uintptr_t>(const_cast<Datatype &>(datatype).handle()));
    case BasicKind::character:
    case BasicKind::wide_character:
        if (!is_c_character(datatype)) break; // Fortran's
        if (basic.size == 1) return std::is_signed_v<char> ? Element::int8 : Element::uint8;
        return by_size(std::is_signed_v<wchar_t> ? Element::int8 : Element::uint8, 1, basic.size);
    case BasicKind::packed:
        break;
    }
    return Element::none;
}

bool applies(const Operation &operation, const Datatype &datatype) {
    if (!operation.is_predefined()) return true;
    if (operation.is_assignment()) return datatype.is_predefined();
    Element element = element_of(datatype);
    return element != Element::none &&
           baseline_kernels.kernels[operation.number()][static_cast<int>(element)].fold != nullptr;
}

int check_applies(const Operation &operation, const Datatype &datatype) {
    if (applies(operation, datatype)) {
        if (node.settings.checking && operation.is_predefined() && !operation.is_assignment() &&
            is_c_character(datatype))
            warn_of_character(operation, datatype);
        return MPI_SUCCESS;
    }
    const char *wanted = "predefined types";
    switch (operation.number() & 0x18) {
    case 0x00:
        wanted = operation.number() == 0x01 || operation.number() == 0x04
                     ? "predefined integer, floating point and complex types"
                     : "predefined integer and floating point types";
        break;
    case 0x08:
        wanted = "predefined integer types and MPI_BYTE";
        break;
    case 0x10:
        wanted = "predefined integer and logical types";
        break;
    case 0x18:
        if (!operation.is_assignment()) wanted = "the predefined pairs, such as MPI_DOUBLE_INT and MPI_2REAL";
        break;
    default:
        break;
    }
    std::string_view name = datatype.name();
    if (name.empty()) name = datatype.is_predefined() ? "a predefined type" : "a derived type";
    return fail(MPI_ERR_OP, "%s is not defined for %.*s, but for %s", operation.name(), static_cast<int>(name.size()),
                name.data(), wanted);
}

Reduction::Reduction(Operation &operation, Datatype &datatype) : operation_(&operation), datatype_(&datatype) {
    if (!operation.is_predefined() || operation.is_assignment()) return;
    Element element = element_of(datatype);
    if (element != Element::none) kernel_ = kernels().kernels[operation.number()][static_cast<int>(element)];
}

void Reduction::fold(const void *in, void *inout, Count count) const {
    if (count == 0) return;
    if (kernel_.fold != nullptr) return kernel_.fold(in, inout, count);
    if (!operation_->is_predefined()) return call_user(in, inout, count);
    if (operation_->number() == Operation::replace_number)
        copy_between({&datatype_->plan(), const_cast<void *>(in), count}, {&datatype_->plan(), inout, count}, 0,
                     count * datatype_->size());
}

void Reduction::join(const void *a, const void *b, void *out, Count count) const {
    if (count == 0) return;
    if (kernel_.join != nullptr) return kernel_.join(a, b, out, count);
    copy_between({&datatype_->plan(), const_cast<void *>(b), count}, {&datatype_->plan(), out, count}, 0,
                 count * datatype_->size());
    fold(a, out, count);
}

void Reduction::join_all(const void *const *sources, int source_count, void *out, Count count) const {
    Count extent = datatype_->extent();
    Count piece = std::max<Count>(1, piece_bytes / extent);
    auto *target = static_cast<char *>(out);
    auto source = [&](int i, Count from) { return static_cast<const char *>(sources[i]) + from * extent; };
    for (Count from = 0; from < count; from += piece) {
        Count length = std::min(piece, count - from);
        char *place = target + from * extent;
        if (source_count == 1)
            copy_between({&datatype_->plan(), const_cast<char *>(source(0, from)), length},
                         {&datatype_->plan(), place, length}, 0, length * datatype_->size());
        else
            kernel_.join(source(0, from), source(1, from), place, length);
        for (int i = 2; i < source_count; ++i) kernel_.fold(source(i, from), place, length);
    }
}

void Reduction::call_user(const void *in, void *inout, Count count) const {
    MPI_Datatype handle = datatype_->handle();
    if (operation_->large_function_ != nullptr) {
        if (operation_->caller_ != nullptr)
            return operation_->caller_(reinterpret_cast<Callback>(operation_->large_function_), const_cast<void *>(in),
                                       inout, count, handle);
        operation_->large_function_(const_cast<void *>(in), inout, &count, &handle);
        return;
    }
    auto *source = static_cast<char *>(const_cast<void *>(in));
    auto *target = static_cast<char *>(inout);
    while (count > 0) {
        int length = static_cast<int>(std::min<Count>(count, INT_MAX));
        int passed = length;
        if (operation_->caller_ != nullptr)
            operation_->caller_(reinterpret_cast<Callback>(operation_->function_), source, target, length, handle);
        else
            operation_->function_(source, target, &passed, &handle);
        source += length * datatype_->extent();
        target += length * datatype_->extent();
        count -= length;
    }
}

} // namespace volley
