// SPDX-License-Identifier: BSD-3-Clause
/// How a call inside the library ends: well, or with an MPI error class and a sentence for people.
#pragma once

#include <mpi.h>

#include <string>

namespace volley {

/// Success costs nothing but an empty string. Errors are values: no exception leaves the core.
struct [[nodiscard]] Outcome {
    int error_class = MPI_SUCCESS;
    std::string message; ///< names the thing, the value seen and the value wanted

    bool ok() const {
        return error_class == MPI_SUCCESS;
    }
};

/// An error with a printf-formatted message. Where memory is short the message may be empty.
[[gnu::format(printf, 2, 3)]] Outcome failure(int error_class, const char *format, ...);

} // namespace volley
