/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the control variables of an MPI as they are in a run, NAME=VALUE, one a line (MPI 3.0 and later, MPI_T): those
 * of the whole process with one value. Rank 0 prints. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* What MPI_T_cvar_read brings for a variable of this type, as text; 0 if we do not know the type. */
static int as_text(MPI_Datatype type, const void *value, char *text, size_t room) {
    if (type == MPI_INT) return snprintf(text, room, "%d", *(const int *)value);
    if (type == MPI_UNSIGNED) return snprintf(text, room, "%u", *(const unsigned *)value);
    if (type == MPI_UNSIGNED_LONG) return snprintf(text, room, "%lu", *(const unsigned long *)value);
    if (type == MPI_UNSIGNED_LONG_LONG) return snprintf(text, room, "%llu", *(const unsigned long long *)value);
    if (type == MPI_COUNT) return snprintf(text, room, "%lld", (long long)*(const MPI_Count *)value);
    if (type == MPI_DOUBLE) return snprintf(text, room, "%g", *(const double *)value);
    if (type == MPI_CHAR) return snprintf(text, room, "%s", (const char *)value);
    return 0;
}

static void print_variable(int index) {
    char name[512], text[4096];
    int name_length = sizeof name, verbosity, bind, scope, count, no_description = 0;
    MPI_Datatype type;
    MPI_T_enum enumeration;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &type, &enumeration, NULL, &no_description, &bind,
                            &scope) != MPI_SUCCESS ||
        bind != MPI_T_BIND_NO_OBJECT || MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return;
    /* A string's count is its room; sixteen bytes hold any other value. */
    void *value = type == MPI_CHAR || count == 1 ? calloc((size_t)count + 1, 16) : NULL;
    if (value && MPI_T_cvar_read(handle, value) == MPI_SUCCESS && as_text(type, value, text, sizeof text) > 0)
        printf("%s=%s\n", name, text);
    free(value);
    MPI_T_cvar_handle_free(&handle);
}

int main(int argc, char **argv) {
    int provided, rank, variables;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS) {
        if (rank == 0 && MPI_T_cvar_get_num(&variables) == MPI_SUCCESS)
            for (int index = 0; index < variables; index++) print_variable(index);
        MPI_T_finalize();
    }
    MPI_Finalize();
    return 0;
}
