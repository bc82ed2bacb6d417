// SPDX-License-Identifier: BSD-3-Clause
#include "fortran/openmpi/interface.h"

int mpi_fortran_bottom_, mpi_fortran_in_place_, mpi_fortran_errcodes_ignore_, mpi_fortran_unweighted_;
int mpi_fortran_weights_empty_, mpi_fortran_status_ignore_[2], mpi_fortran_statuses_ignore_[2];
char mpi_fortran_argv_null_, mpi_fortran_argvs_null_;

// C's names for them are variables of the face.
extern "C" int *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE, *MPI_F08_STATUS_IGNORE, *MPI_F08_STATUSES_IGNORE;

namespace {

[[gnu::constructor]] void tell_c() {
    MPI_F_STATUS_IGNORE = MPI_F08_STATUS_IGNORE = mpi_fortran_status_ignore_;
    MPI_F_STATUSES_IGNORE = MPI_F08_STATUSES_IGNORE = mpi_fortran_statuses_ignore_;
}

} // namespace
