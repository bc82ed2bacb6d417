// SPDX-License-Identifier: BSD-3-Clause
/// Arithmetic on 64-bit counts that reports overflow instead of wrapping.
#pragma once

#include <mpi.h>

namespace volley {

/// MPI_Count, MPI_Aint and MPI_Offset: all of them int64_t where this library runs.
using Count = MPI_Count;
static_assert(sizeof(MPI_Aint) == sizeof(Count) && sizeof(MPI_Offset) == sizeof(Count));

/// The longest message, by the width of the field in a ring's slot (transport/shm/ring.h). No memory is as large, but
/// data may lie in the same memory again and again.
inline constexpr Count largest_message = (Count{1} << 56) - 1;

/// A sum of products that remembers whether anything in it overflowed; `value()` is then meaningless.
class Checked {
  public:
    constexpr Checked(Count value = 0) : value_(value) {}

    constexpr Checked operator+(Checked other) const {
        Checked result;
        result.overflow_ = __builtin_add_overflow(value_, other.value_, &result.value_) | overflow_ | other.overflow_;
        return result;
    }

    constexpr Checked operator-(Checked other) const {
        Checked result;
        result.overflow_ = __builtin_sub_overflow(value_, other.value_, &result.value_) | overflow_ | other.overflow_;
        return result;
    }

    constexpr Checked operator*(Checked other) const {
        Checked result;
        result.overflow_ = __builtin_mul_overflow(value_, other.value_, &result.value_) | overflow_ | other.overflow_;
        return result;
    }

    constexpr bool overflow() const {
        return overflow_;
    }

    constexpr Count value() const {
        return value_;
    }

  private:
    Count value_;
    bool overflow_ = false;
};

} // namespace volley
