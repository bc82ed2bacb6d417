// SPDX-License-Identifier: BSD-3-Clause
/// The forms of data access (MPI 5.0, section 14.4): which of the three kinds of position, alone or together, waiting
/// or not. All return error codes.
#pragma once

#include "file/access.h"

#include <mpi.h>

namespace volley {

/// Where an access begins.
struct Place {
    enum class Kind : std::uint8_t { offset, individual, shared };

    Kind kind;
    Count offset = 0; ///< in etypes

    static Place at(Count offset) {
        return {Kind::offset, offset};
    }
    static Place individual() {
        return {Kind::individual};
    }
    static Place shared() {
        return {Kind::shared};
    }
};

int access(const Passage &passage, const Place &place, MPI_Status *status);
/// The access is done when the call returns, and the request is complete.
int start_access(const Passage &passage, const Place &place, MPI_Request *request, const char *name);

// Collective. At the shared pointer: in the order of ranks. `name` is the function's.
int access_all(const Passage &passage, const Place &place, MPI_Status *status, const char *name);
int start_access_all(const Passage &passage, const Place &place, MPI_Request *request, const char *name);
int begin_access_all(const Passage &passage, const Place &place, const char *name);
/// Ends what the function `begun` has begun.
int end_access_all(File &file, const void *buffer, MPI_Status *status, const char *begun);

/// That no split access is under way, where a collective function is called.
int check_no_split(const File &file);

} // namespace volley
