// SPDX-License-Identifier: BSD-3-Clause
/// What entry points for Fortran are made of. gfortran and flang call MPI_X by the name mpi_x_.
#pragma once

/// pmpi_x_, and the weak mpi_x_, which a tool may define as well. Both call MPI_X of C, so that a tool for C sees them.
#define FORTRAN_FUNCTION(type, name, parameters)                                                                       \
    extern "C" [[gnu::visibility("default")]] type p##name##_ parameters;                                              \
    extern "C" [[gnu::visibility("default"), gnu::weak, gnu::alias("p" #name "_")]] type name##_ parameters;           \
    type p##name##_ parameters
#define FORTRAN_ENTRY(name, parameters) FORTRAN_FUNCTION(void, name, parameters)

/// Another name of the same, with its profiling name.
#define FORTRAN_ALIAS(name, other)                                                                                     \
    extern "C" [[gnu::visibility("default"), gnu::weak, gnu::alias("p" #name "_")]] decltype(p##name##_) other##_;     \
    extern "C" [[gnu::visibility("default"), gnu::weak, gnu::alias("p" #name "_")]] decltype(p##name##_) p##other##_

/// A procedure without a profiling name.
#define FORTRAN_PROCEDURE(name, parameters)                                                                            \
    extern "C" [[gnu::visibility("default")]] void name##_ parameters;                                                 \
    void name##_ parameters

namespace volley::fortran {

/// `ierror` is optional in the module mpi_f08.
inline void return_code(int *ierror, int code) {
    if (ierror != nullptr) *ierror = code;
}

} // namespace volley::fortran
