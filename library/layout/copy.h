// SPDX-License-Identifier: BSD-3-Clause
/// Copying typed data: to and from packed form, directly from one type to another, or piece by piece.
///
/// A message of `count` elements has count * size packed bytes; every function takes the range [from, to) of
/// them it is to handle, so that a message can be moved in chunks, in any order and by several ranks at once.
/// Nothing is checked: plans belong to committed types, ranges lie in the message. Plans may belong to other
/// ranks as long as their memory can be read here.
#pragma once

#include "layout/plan.h"

#include <cstddef>
#include <memory>
#include <type_traits>

struct iovec;

namespace volley {

/// Typed data in memory.
struct TypedBuffer {
    const DatatypePlan *plan;
    void *address; ///< what the user passed; MPI_BOTTOM with absolute displacements is fine
    Count count;   ///< elements
};

/// Where contiguous data begin. Precondition: plan->contiguous().
inline char *contiguous_begin(const TypedBuffer &buffer) {
    return static_cast<char *>(buffer.address) + buffer.plan->displacement;
}

/// `packed` receives byte `from` first.
void pack(const TypedBuffer &source, Count from, Count to, void *packed);

/// `packed` has byte `from` first.
void unpack(const TypedBuffer &destination, Count from, Count to, const void *packed);

/// Copies the same bytes between two messages with the same number of packed bytes. It copies straight from place to
/// place if both have the same layout, long blocks or equal ones; otherwise through a few kilobytes that stay in the
/// cache.
void copy_between(const TypedBuffer &source, const TypedBuffer &destination, Count from, Count to);

/// A function to call with each piece of memory; it returns false to end the walk. This object borrows the function.
class SegmentVisitor {
  public:
    template <class Function>
        requires(!std::is_same_v<std::remove_cvref_t<Function>, SegmentVisitor>)
    SegmentVisitor(Function &&function)
        : context_(const_cast<void *>(static_cast<const void *>(std::addressof(function)))),
          call_([](void *context, char *address, Count bytes) -> bool {
              return (*static_cast<std::remove_reference_t<Function> *>(context))(address, bytes);
          }) {}

    bool operator()(char *address, Count bytes) const {
        return call_(context_, address, bytes);
    }

  private:
    void *context_;
    bool (*call_)(void *, char *, Count);
};

/// Visits the memory in the order of the type map, adjacent pieces as one. False if the visitor ended it.
bool for_each_segment(const TypedBuffer &buffer, Count from, Count to, SegmentVisitor visit);

/// Fills up to `most` entries for the range; returns how many, and in `covered` the bytes they hold.
int fill_segments(const TypedBuffer &buffer, Count from, Count to, iovec *segments, int most, Count &covered);

} // namespace volley
