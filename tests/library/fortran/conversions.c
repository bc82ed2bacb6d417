/* SPDX-License-Identifier: BSD-3-Clause
 * C's side of conversions.f90: handles and statuses that Fortran hands over, by MPI_X_c2f and MPI_X_f2c. */
#include <mpi.h>

MPI_Fint world_as_integer(void);
int ranks_of(MPI_Fint comm);
int elements_of(const MPI_F08_status *status, MPI_Fint datatype);
int elements_of_array(const MPI_Fint *status, MPI_Fint datatype);
int is_ignored(const MPI_F08_status *status);
int are_ignored(const MPI_Fint *statuses);

MPI_Fint world_as_integer(void) {
    return MPI_Comm_c2f(MPI_COMM_WORLD);
}

int ranks_of(MPI_Fint comm) {
    int ranks;
    MPI_Comm_size(PMPI_Comm_f2c(comm), &ranks);
    return ranks;
}

/* The number of elements is in the fields that the library keeps to itself, which must come along. */
int elements_of(const MPI_F08_status *status, MPI_Fint datatype) {
    MPI_Status in_c;
    MPI_Fint array[MPI_F_STATUS_SIZE];
    MPI_F08_status same;
    MPI_Status_f082c(status, &in_c);
    MPI_Status_c2f08(&in_c, &same);
    MPI_Status_f082f(&same, array);
    return elements_of_array(array, datatype);
}

int elements_of_array(const MPI_Fint *status, MPI_Fint datatype) {
    MPI_Status in_c;
    MPI_Fint array[MPI_F_STATUS_SIZE];
    int elements;
    MPI_Status_f2c(status, &in_c);
    MPI_Status_c2f(&in_c, array);
    MPI_Status_f2f08(array, &in_c);
    MPI_Get_count(&in_c, MPI_Type_f2c(datatype), &elements);
    return in_c.MPI_SOURCE == status[MPI_F_SOURCE] && in_c.MPI_TAG == status[MPI_F_TAG] ? elements : -1;
}

int is_ignored(const MPI_F08_status *status) {
    return status == MPI_F08_STATUS_IGNORE;
}

int are_ignored(const MPI_Fint *statuses) {
    return statuses == MPI_F_STATUSES_IGNORE;
}
