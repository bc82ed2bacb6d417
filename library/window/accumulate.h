// SPDX-License-Identifier: BSD-3-Clause
/// Accumulate operations on the memory of a target on this node (or of this process, on behalf of another one).
#pragma once

#include "core/operation.h"
#include "layout/copy.h"
#include "window/state.h"

namespace volley {

/// Buffers with a nullptr for their plan are not there: no operand with MPI_NO_OP, no result of MPI_Accumulate. The
/// others have equal numbers of packed bytes, and consist of elements of `basic`, which the operation applies to.
struct Accumulation {
    Operation &operation;
    Datatype &basic;
    TypedBuffer target; ///< its address is the target's
    TypedBuffer operand{nullptr, nullptr, 0};
    TypedBuffer result{nullptr, nullptr, 0};
};

/// Does it for the packed bytes [from, to), whole elements, at a target of this rank's window. An error code.
int accumulate(const WindowState &window, const WindowTarget &target, const Accumulation &accumulation, Count from,
               Count to);

/// MPI_Compare_and_swap of one element.
int compare_and_swap(const WindowState &window, const WindowTarget &target, char *address, Datatype &basic,
                     const void *compare, const void *value, void *result);

/// Whether two predefined datatypes mean the same: two names of one, for example.
bool is_same_element(const Datatype &one, const Datatype &other);

/// The predefined datatype that all elements of a datatype have; nullptr if they have several, or none at all.
Datatype *only_element_of(Datatype &datatype);

} // namespace volley
