// SPDX-License-Identifier: BSD-3-Clause
/// MPICH's interface for Fortran: handles are those of C, but for files. Variables whose addresses stand for something
/// lie in common blocks, several in one; the module mpi_f08 has others.
#pragma once

#include "fortran/face.h"

extern "C" {
[[gnu::visibility("default")]] extern struct {
    int bottom, in_place, status_ignore[5];
} mpipriv1_;
[[gnu::visibility("default")]] extern struct {
    int statuses_ignore[5], errcodes_ignore;
} mpipriv2_;
[[gnu::visibility("default")]] extern struct {
    char argvs_null, argv_null;
} mpiprivc_;
[[gnu::visibility("default")]] extern int mpifcmb5_; // MPI_UNWEIGHTED
[[gnu::visibility("default")]] extern int mpifcmb9_; // MPI_WEIGHTS_EMPTY
[[gnu::visibility("default")]] extern int mpifcmba_; // MPI_BUFFER_AUTOMATIC
// Of the module mpi_f08.
[[gnu::visibility("default")]] extern int MPIR_F08_MPI_BOTTOM;
[[gnu::visibility("default")]] extern int MPIR_F08_MPI_IN_PLACE;
[[gnu::visibility("default")]] extern MPI_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ;
[[gnu::visibility("default")]] extern MPI_Status MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
#define LINK_CONSTANT(type, name)                                                                                      \
    [[gnu::visibility("default")]] extern type mpi_f08_##name __asm__("__mpi_f08_link_constants_MOD_mpi_" #name)
LINK_CONSTANT(char, argv_null);
LINK_CONSTANT(char, argvs_null);
LINK_CONSTANT(int, errcodes_ignore);
LINK_CONSTANT(int, unweighted);
LINK_CONSTANT(int, weights_empty);
// C's, variables of the face.
extern int *const MPI_UNWEIGHTED;
extern int *const MPI_WEIGHTS_EMPTY;
}

namespace volley::faces {

template <class Native> Native to_native(Face<Native> handle) {
    return static_cast<Native>(handle);
}
template <> inline MPI_File to_native<MPI_File>(int handle) {
    return PMPI_File_fromint(handle);
}
template <class Native> Face<Native> to_face(Native handle) {
    return static_cast<int>(handle);
}
template <> inline int to_face<MPI_File>(MPI_File handle) {
    return PMPI_File_toint(handle);
}

} // namespace volley::faces

namespace volley::fortran {

inline bool is_bottom(const void *address) {
    return address == &mpipriv1_.bottom || address == &MPIR_F08_MPI_BOTTOM;
}
inline bool is_in_place(const void *address) {
    return address == &mpipriv1_.in_place || address == &MPIR_F08_MPI_IN_PLACE;
}
inline bool is_buffer_automatic(const void *address) {
    return address == &mpifcmba_;
}
inline void *buffer_automatic() {
    return &mpifcmba_;
}
inline bool is_status_ignore(const void *address) {
    return address == &mpipriv1_.status_ignore || address == &mpipriv2_.statuses_ignore ||
           address == &MPIR_F08_MPI_STATUS_IGNORE_OBJ || address == &MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
}
inline bool is_errcodes_ignore(const void *address) {
    return address == &mpipriv2_.errcodes_ignore || address == &mpi_f08_errcodes_ignore;
}
inline bool is_unweighted(const void *address) {
    return address == &mpifcmb5_ || address == &mpi_f08_unweighted;
}
inline bool is_weights_empty(const void *address) {
    return address == &mpifcmb9_ || address == &mpi_f08_weights_empty;
}
inline bool is_argv_null(const void *address) {
    return address == &mpiprivc_.argv_null || address == &mpi_f08_argv_null;
}
inline bool is_argvs_null(const void *address) {
    return address == &mpiprivc_.argvs_null || address == &mpi_f08_argvs_null;
}

/// Fortran's keys of predefined attributes are those of C and 1.
inline int c_keyval(int keyval) {
    switch (keyval - 1) {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_BASE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_SIZE:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
        return keyval - 1;
    default:
        return keyval;
    }
}

} // namespace volley::fortran

#include "fortran/face_callbacks.h"
