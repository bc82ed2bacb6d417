// SPDX-License-Identifier: BSD-3-Clause
/// What Fortran's libraries of other MPIs have in common. C's functions are those of the face of the same interface
/// (library/faces), so that constants, codes and statuses are the interface's already; only callbacks, which the
/// library calls, need the face's help. Included by an interface's own interface.h.
#pragma once

#include "faces/conversion.h"

namespace volley::faces {

template <class Native> struct FaceHandle {
    using Type = int;
};

} // namespace volley::faces
