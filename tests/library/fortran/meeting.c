/* SPDX-License-Identifier: BSD-3-Clause
 * C's side of f08.F90: the same handles as integers, and attributes. */
#include <mpi.h>

#include <string.h>

int half_of(int comm);
intptr_t attribute_in_c(int comm, int keyval);
void set_attribute_in_c(int comm, int keyval, intptr_t value);
int c_knows_fortran(void);

/* A communicator that C makes of one that Fortran has. */
int half_of(int comm) {
    MPI_Comm half;
    int rank;
    MPI_Comm_rank(MPI_Comm_fromint(comm), &rank);
    MPI_Comm_split(MPI_Comm_fromint(comm), rank % 2, rank, &half);
    return MPI_Comm_toint(half);
}

/* What Fortran has set is an integer in C, of which the value of the attribute is the address. */
intptr_t attribute_in_c(int comm, int keyval) {
    MPI_Aint *value;
    int found;
    MPI_Comm_get_attr(MPI_Comm_fromint(comm), keyval, &value, &found);
    return found ? *value : -1;
}

void set_attribute_in_c(int comm, int keyval, intptr_t value) {
    MPI_Comm_set_attr(MPI_Comm_fromint(comm), keyval, (void *)value);
}

int c_knows_fortran(void) {
#ifdef OTHER_MPI
    return 1; /* which has no such functions */
#else
    MPI_Info info;
    char value[8] = "";
    int length = sizeof value, found = 0, yes = 0, no = 1, is_set = 0;
    MPI_Abi_get_fortran_info(&info);
    MPI_Info_get_string(info, "mpi_integer_size", &length, value, &found);
    MPI_Info_free(&info);
    MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &is_set);
    return found && strcmp(value, "4") == 0 && is_set && yes == 1 && no == 0;
#endif
}
