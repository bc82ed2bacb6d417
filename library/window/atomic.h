// SPDX-License-Identifier: BSD-3-Clause
/// Accumulate operations by the processor's atomic instructions, for integers, logical values and bytes of up to 8
/// bytes.
///
/// Where the processor has the operation itself (sums and bits of integers, exchange), that is taken; all else is a
/// compare-and-swap in a loop. Whether elements of a type go this way depends on the type alone, so that all
/// operations on an element are atomic to each other. Floating point numbers do not: arrays of them are added up in
/// vectors under a lock (1024 doubles: 5.4 us one by one), and for a single one the lock costs no more than the loop.
/// Once arrays of the others come, these take the lock as well (window/instructions.h).
#pragma once

#include "core/operation.h"

namespace volley {

/// Combines `count` elements that lie side by side at `target` with those at `operand`, each atomically. `result`, if
/// not nullptr, gets what was there before. `target` is aligned to the element's size, the others need not be.
using AtomicKernel = void (*)(void *target, const void *operand, void *result, Count count);

/// Whether operations on elements of this type are the processor's.
bool is_atomic(const Datatype &basic);

/// nullptr if the operation does not apply. Precondition: is_atomic(basic).
AtomicKernel atomic_kernel(const Operation &operation, const Datatype &basic);

/// Stores `value` if there is `compare`, atomically; `result` gets what was there before. `bytes` is 1, 2, 4 or 8.
void atomic_compare_and_swap(void *target, const void *compare, const void *value, void *result, Count bytes);

} // namespace volley
