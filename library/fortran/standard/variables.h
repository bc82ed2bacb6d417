// SPDX-License-Identifier: BSD-3-Clause
/// Variables whose addresses stand for something else than data: MPI_BOTTOM and others. Each is all of a common block
/// in mpif.h and the module mpi, and a variable that is bound to the same name in mpi_f08. The program has its own
/// copies, which the dynamic linker lets this library find.
#pragma once

#define FORTRAN_VARIABLES(DO)                                                                                          \
    DO(int, bottom)                                                                                                    \
    DO(int, in_place)                                                                                                  \
    DO(int, buffer_automatic)                                                                                          \
    DO(MPI_Status, status_ignore)                                                                                      \
    DO(MPI_Status, statuses_ignore)                                                                                    \
    DO(int, errcodes_ignore)                                                                                           \
    DO(int, unweighted)                                                                                                \
    DO(int, weights_empty)                                                                                             \
    DO(char, argv_null)                                                                                                \
    DO(char, argvs_null)

#include <mpi.h>

#define DECLARE_FORTRAN_VARIABLE(type, name) extern "C" [[gnu::visibility("default")]] type volley_fortran_##name##_;
FORTRAN_VARIABLES(DECLARE_FORTRAN_VARIABLE)
#undef DECLARE_FORTRAN_VARIABLE
