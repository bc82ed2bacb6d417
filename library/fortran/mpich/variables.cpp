// SPDX-License-Identifier: BSD-3-Clause
#include "fortran/mpich/interface.h"

decltype(mpipriv1_) mpipriv1_ = {};
decltype(mpipriv2_) mpipriv2_ = {};
decltype(mpiprivc_) mpiprivc_ = {};
int mpifcmb5_, mpifcmb9_, mpifcmba_;
int MPIR_F08_MPI_BOTTOM, MPIR_F08_MPI_IN_PLACE;
MPI_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
char mpi_f08_argv_null, mpi_f08_argvs_null;
int mpi_f08_errcodes_ignore, mpi_f08_unweighted, mpi_f08_weights_empty;

// C's names for them are variables of the face.
extern "C" int *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;
extern "C" MPI_Status *MPI_F08_STATUS_IGNORE, *MPI_F08_STATUSES_IGNORE;

namespace {

[[gnu::constructor]] void tell_c() {
    MPI_F_STATUS_IGNORE = mpipriv1_.status_ignore;
    MPI_F_STATUSES_IGNORE = mpipriv2_.statuses_ignore;
    MPI_F08_STATUS_IGNORE = &MPIR_F08_MPI_STATUS_IGNORE_OBJ;
    MPI_F08_STATUSES_IGNORE = &MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
}

} // namespace
