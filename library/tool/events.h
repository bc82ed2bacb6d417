// SPDX-License-Identifier: BSD-3-Clause
/// Events (MPI 5.0, section 15.3.8), and the clock that says when they happened.
///
/// A callback is called where the event happens, inside of a call of MPI and with the rank's lock held: it has to be
/// registered for MPI_T_CB_REQUIRE_MPI_RESTRICTED or more. If there is none, the event is dropped and counted, and the
/// handler of dropped events is told before the next event that is not.
#pragma once

#include "tool/categories.h"
#include "tool/enumeration.h"

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace volley::tool {

struct EventElement {
    MPI_Datatype datatype;
    std::size_t displacement, bytes;
};

struct EventType {
    const char *name;
    Category category;
    int verbosity;
    std::vector<EventElement> elements;
    std::size_t bytes; ///< of all
    const char *description;
    const Enumeration *enumeration = nullptr; ///< of elements of type MPI_INT
};

const std::vector<EventType> &event_types();

} // namespace volley::tool
