// SPDX-License-Identifier: BSD-3-Clause
/// What the datatype engine's own files may do with a Datatype and others may not.
#pragma once

#include "datatype.h"

namespace volley {

/// One row of the table of predefined types, in predefined.cpp.
struct PredefinedRow {
    const char *name;
    std::uint16_t handle;
    BasicType basic;                ///< of kind `none` for a pair
    std::uint16_t pair[2] = {0, 0}; ///< handles of a pair's elements
};

struct Datatype::Access {
    struct Predefined; ///< in predefined.cpp
    struct Memory;     ///< in datatype.cpp

    /// A datatype with room for its arguments and children; the caller fills them, then calls describe().
    static Outcome create(const Envelope &envelope, CountForm form, Datatype *&made);

    /// Derives nesting and extents from arguments and children; fails on overflow.
    static Outcome describe(Datatype &datatype);

    static Count *arguments(Datatype &datatype) {
        return datatype.arguments_;
    }

    static Datatype **children(Datatype &datatype) {
        return datatype.children_;
    }

    /// Retains the child.
    static void set_child(Datatype &datatype, Count index, Datatype &child);

    /// Takes over the caller's reference to the realisation.
    static void set_realisation(Datatype &datatype, Datatype &realisation) {
        datatype.realisation_ = &realisation;
    }

    static void set_basic(Datatype &datatype, const BasicType &basic) {
        datatype.basic_ = basic;
    }

    static void set_predefined(Datatype &datatype) {
        datatype.predefined_ = true;
    }

    /// A dup uses its original's plan, which lives as long since the original is its child.
    static void borrow_plan(Datatype &datatype, Datatype &owner);

    static Datatype *predefined(std::uintptr_t handle);
};

/// The plan of a type as a new allocation; nullptr with an error where memory is short.
Outcome build_plan(const Datatype &datatype, const DatatypePlan *&plan);
void free_plan(const DatatypePlan *plan);

} // namespace volley
