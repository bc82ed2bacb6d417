// SPDX-License-Identifier: BSD-3-Clause
#include "substitute.h"

#include "access.h"

#include <vector>

namespace volley {
namespace {

/// References that are given back at the end.
struct References {
    std::vector<Datatype *> types;

    ~References() {
        for (Datatype *type : types) type->release();
    }
};

std::vector<int> as_ints(const Count *numbers, Count count) {
    return {numbers, numbers + count};
}

/// Arrays of a subarray or distributed array come as ints or as large counts.
Outcome subarray(const Datatype &datatype, const Count *all, Datatype &element, Datatype *&made) {
    const Count dimensions = all[0];
    const bool large = datatype.envelope().large_counts != 0;
    const Count *sizes = all + (large ? 2 : 1);
    const int order = static_cast<int>(large ? all[1] : all[1 + 3 * dimensions]);
    return make_subarray(static_cast<int>(dimensions), CountArray(sizes), CountArray(sizes + dimensions),
                         CountArray(sizes + 2 * dimensions), order, element, made);
}

Outcome darray(const Datatype &datatype, const Count *all, Datatype &element, Datatype *&made) {
    const Count dimensions = all[2];
    const bool large = datatype.envelope().large_counts != 0;
    const Count *others = all + 3 + (large ? 0 : dimensions);
    const Count *sizes = large ? others + 3 * dimensions + 1 : all + 3;
    return make_darray(
        static_cast<int>(all[0]), static_cast<int>(all[1]), static_cast<int>(dimensions), CountArray(sizes),
        as_ints(others, dimensions).data(), as_ints(others + dimensions, dimensions).data(),
        as_ints(others + 2 * dimensions, dimensions).data(), static_cast<int>(others[3 * dimensions]), element, made);
}

Outcome make_again(Datatype &datatype, const std::vector<Datatype *> &parts, Datatype *&made) {
    const Count *all = Datatype::Access::arguments(datatype);
    Datatype &part = *parts.front();
    switch (datatype.combiner()) {
    case MPI_COMBINER_CONTIGUOUS:
        return make_contiguous(CountForm::large, all[0], part, made);
    case MPI_COMBINER_VECTOR:
        return make_vector(CountForm::large, all[0], all[1], all[2], part, made);
    case MPI_COMBINER_HVECTOR:
        return make_hvector(CountForm::large, all[0], all[1], all[2], part, made);
    case MPI_COMBINER_INDEXED:
        return make_indexed(all[0], CountArray(all + 1), CountArray(all + 1 + all[0]), part, made);
    case MPI_COMBINER_HINDEXED:
        return make_hindexed(all[0], CountArray(all + 1), all + 1 + all[0], part, made);
    case MPI_COMBINER_INDEXED_BLOCK:
        return make_indexed_block(all[0], all[1], CountArray(all + 2), part, made);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return make_hindexed_block(CountForm::large, all[0], all[1], all + 2, part, made);
    case MPI_COMBINER_STRUCT:
        return make_struct(all[0], CountArray(all + 1), all + 1 + all[0], parts.data(), made);
    case MPI_COMBINER_SUBARRAY:
        return subarray(datatype, all, part, made);
    case MPI_COMBINER_DARRAY:
        return darray(datatype, all, part, made);
    case MPI_COMBINER_RESIZED:
        return make_resized(CountForm::large, all[0], all[1], part, made);
    default: // dup
        return make_dup(part, made);
    }
}

Outcome substitute_in(Datatype &datatype, const Substitution &substitution, Datatype *&made) {
    if (datatype.is_predefined()) return substitution(datatype, made);
    References parts;
    Datatype **children = Datatype::Access::children(datatype);
    for (Count i = 0; i < datatype.envelope().datatypes; ++i) {
        Datatype *part = nullptr;
        if (Outcome outcome = substitute_in(*children[i], substitution, part); !outcome.ok()) return outcome;
        parts.types.push_back(part);
    }
    // A struct of nothing has no parts.
    if (parts.types.empty()) return make_contiguous(CountForm::large, 0, byte_datatype(), made);
    return make_again(datatype, parts.types, made);
}

} // namespace

Outcome substitute(Datatype &datatype, const Substitution &substitution, Datatype *&made) {
    Outcome outcome = substitute_in(datatype, substitution, made);
    return outcome.ok() ? made->commit() : outcome;
}

} // namespace volley
