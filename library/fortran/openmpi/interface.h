// SPDX-License-Identifier: BSD-3-Clause
/// Open MPI's interface for Fortran: handles are numbers, which the face converts. Each variable whose address stands
/// for something is a common block, and the same in the module mpi_f08.
#pragma once

#include "faces/openmpi/handle_kinds.h"
#include "fortran/face.h"

// Programs may have copies, of no more bytes than the variables had where they were linked.
extern "C" {
[[gnu::visibility("default")]] extern int mpi_fortran_bottom_;
[[gnu::visibility("default")]] extern int mpi_fortran_in_place_;
[[gnu::visibility("default")]] extern char mpi_fortran_argv_null_;
[[gnu::visibility("default")]] extern char mpi_fortran_argvs_null_;
[[gnu::visibility("default")]] extern int mpi_fortran_errcodes_ignore_;
[[gnu::visibility("default")]] extern int mpi_fortran_status_ignore_[2];
[[gnu::visibility("default")]] extern int mpi_fortran_statuses_ignore_[2];
[[gnu::visibility("default")]] extern int mpi_fortran_unweighted_;
[[gnu::visibility("default")]] extern int mpi_fortran_weights_empty_;
}

// The interface has no such buffers.
#define MPI_BUFFER_AUTOMATIC (reinterpret_cast<void *>(intptr_t{-1}))

namespace volley::faces {

#define HANDLE_AS_INTEGER(kind, Kind)                                                                                  \
    template <> inline Kind to_native<Kind>(int number) {                                                              \
        return PMPI_##kind##_fromint(number);                                                                          \
    }                                                                                                                  \
    template <> inline int to_face<Kind>(Kind handle) {                                                                \
        return PMPI_##kind##_toint(handle);                                                                            \
    }
FOR_EACH_HANDLE_KIND(HANDLE_AS_INTEGER)

} // namespace volley::faces

namespace volley::fortran {

inline bool is_bottom(const void *address) {
    return address == &mpi_fortran_bottom_;
}
inline bool is_in_place(const void *address) {
    return address == &mpi_fortran_in_place_;
}
inline bool is_buffer_automatic(const void *) {
    return false;
}
inline void *buffer_automatic() {
    return MPI_BUFFER_AUTOMATIC;
}
inline bool is_status_ignore(const void *address) {
    return address == &mpi_fortran_status_ignore_ || address == &mpi_fortran_statuses_ignore_;
}
inline bool is_errcodes_ignore(const void *address) {
    return address == &mpi_fortran_errcodes_ignore_;
}
inline bool is_unweighted(const void *address) {
    return address == &mpi_fortran_unweighted_;
}
inline bool is_weights_empty(const void *address) {
    return address == &mpi_fortran_weights_empty_;
}
inline bool is_argv_null(const void *address) {
    return address == &mpi_fortran_argv_null_;
}
inline bool is_argvs_null(const void *address) {
    return address == &mpi_fortran_argvs_null_;
}

inline int c_keyval(int keyval) {
    return keyval;
}

} // namespace volley::fortran

#include "fortran/face_callbacks.h"
