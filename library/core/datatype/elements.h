// SPDX-License-Identifier: BSD-3-Clause
/// From bytes to elements and back: MPI_Get_count, MPI_Get_elements, MPI_Status_set_elements, and whether the
/// elements a message has are those the receiver expects.
#pragma once

#include "datatype.h"

#include <memory>
#include <type_traits>

namespace volley {

/// How many whole `datatype`s are in a message of `bytes`; MPI_UNDEFINED if it does not end with one.
Count count_in_bytes(Count bytes, const Datatype &datatype);

/// How many basic elements; MPI_UNDEFINED if the message ends within one.
Count elements_in_bytes(Count bytes, const Datatype &datatype);

/// The bytes of the first `elements` basic elements of a message of `datatype`s; fails on overflow.
Outcome bytes_of_elements(Count elements, const Datatype &datatype, Count &bytes);

/// The signature of `count` elements; fails on overflow.
Outcome signature_of(Count count, const Datatype &datatype, Signature &signature);

/// The signature of the first `elements` basic elements of a message of `datatype`s.
Signature signature_of_elements(Count elements, const Datatype &datatype);

/// A message of `sent` may be received as any number of `datatype`s. MPI_PACKED, on either side, fits all;
/// otherwise the sequences of elements must agree in kind and size. That a message is too long for its buffer
/// is not judged here.
bool signature_fits(const Signature &sent, const Datatype &datatype);

/// The signature of MPI_PACKED or of any number of them.
bool is_packed(const Signature &signature);

/// A function to call with runs of equal basic elements: `count` of `type`, the first at `address`, each
/// `stride` bytes after the one before. It borrows what it was made of.
class ElementVisitor {
  public:
    template <class Function>
        requires(!std::is_same_v<std::remove_cvref_t<Function>, ElementVisitor>)
    ElementVisitor(Function &&function)
        : context_(const_cast<void *>(static_cast<const void *>(std::addressof(function)))),
          call_([](void *context, const BasicType &type, std::uintptr_t address, Count count, Count stride) {
              (*static_cast<std::remove_reference_t<Function> *>(context))(type, address, count, stride);
          }) {}

    void operator()(const BasicType &type, std::uintptr_t address, Count count, Count stride) const {
        call_(context_, type, address, count, stride);
    }

  private:
    void *context_;
    void (*call_)(void *, const BasicType &, std::uintptr_t, Count, Count);
};

/// Visits the basic elements of `count` elements at `buffer` in the order of the type map.
void for_each_element(const Datatype &datatype, std::uintptr_t buffer, Count count, ElementVisitor visit);

} // namespace volley
