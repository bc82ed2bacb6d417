// SPDX-License-Identifier: BSD-3-Clause
/// What a status holds beside its public fields: in MPI_internal, the count's 64 bits in words 0 and 1, and whether the
/// message was cancelled in word 2.
#pragma once

#include <mpi.h>

#include <cstring>

namespace volley {

inline void set_status_bytes(MPI_Status &status, MPI_Count bytes) {
    std::memcpy(status.MPI_internal, &bytes, sizeof bytes);
}

inline MPI_Count status_bytes(const MPI_Status &status) {
    MPI_Count bytes;
    std::memcpy(&bytes, status.MPI_internal, sizeof bytes);
    return bytes;
}

inline void set_status_cancelled(MPI_Status &status, bool cancelled) {
    status.MPI_internal[2] = cancelled;
}

inline bool status_cancelled(const MPI_Status &status) {
    return status.MPI_internal[2] != 0;
}

} // namespace volley
