// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Sizeof of other MPIs, which have a procedure for each type and rank (names.ld).
#include "fortran/conversion.h"
#include "fortran/entry.h"

#define SIZE(bytes)                                                                                                    \
    FORTRAN_PROCEDURE(volley_sizeof_##bytes, (void *, int *size, int *ierror)) {                                       \
        *size = bytes;                                                                                                 \
        volley::fortran::return_code(ierror, MPI_SUCCESS);                                                             \
    }
SIZE(1)
SIZE(2)
SIZE(4)
SIZE(8)
SIZE(16)
SIZE(32)
