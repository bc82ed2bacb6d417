// SPDX-License-Identifier: BSD-3-Clause
/// What MPICH's interface has beside the standard's functions: handles as integers, variables that programs read, and
/// the few extensions that programs use.
#include "faces/mpich/handles.h"

#include "faces/entry.h"

namespace {

// No program may read or write there: only the addresses count.
int unweighted, no_weights;
// Where Fortran's own constants lie is for its library to say; these are the defaults of a C program.
int ignored_status[5];

} // namespace

int *const MPICH_UNWEIGHTED = &unweighted;
int *const MPICH_WEIGHTS_EMPTY = &no_weights;

extern "C" {
[[gnu::visibility("default")]] int *MPI_F_STATUS_IGNORE = ignored_status;
[[gnu::visibility("default")]] int *MPI_F_STATUSES_IGNORE = ignored_status;
[[gnu::visibility("default")]] int *MPI_F08_STATUS_IGNORE = ignored_status;
[[gnu::visibility("default")]] int *MPI_F08_STATUSES_IGNORE = ignored_status;
[[gnu::visibility("default")]] void *MPICH_PVAR_ALL_HANDLES __asm__("MPI_T_PVAR_ALL_HANDLES") = nullptr;
}

namespace volley::faces {

DECLARE_NATIVE(MPI_File_fromint);
DECLARE_NATIVE(MPI_File_toint);

// A handle is an integer.
#define UNCHANGED(name)                                                                                                \
    FACE_ENTRY(int, name, (int handle)) {                                                                              \
        return handle;                                                                                                 \
    }
#define HANDLE_AS_INTEGER(kind)                                                                                        \
    UNCHANGED(MPI_##kind##_toint)                                                                                      \
    UNCHANGED(MPI_##kind##_fromint)                                                                                    \
    UNCHANGED(MPI_##kind##_c2f)                                                                                        \
    UNCHANGED(MPI_##kind##_f2c)
HANDLE_AS_INTEGER(Comm)
HANDLE_AS_INTEGER(Errhandler)
HANDLE_AS_INTEGER(Group)
HANDLE_AS_INTEGER(Info)
HANDLE_AS_INTEGER(Message)
HANDLE_AS_INTEGER(Op)
HANDLE_AS_INTEGER(Request)
HANDLE_AS_INTEGER(Session)
HANDLE_AS_INTEGER(Type)
HANDLE_AS_INTEGER(Win)

FACE_ENTRY(int, MPI_File_toint, (void *file)) {
    return file == nullptr ? 0 : NATIVE(MPI_File_toint)(to_native<MPI_File>(file));
}

FACE_ENTRY(void *, MPI_File_fromint, (int number)) {
    return number == 0 ? nullptr : to_face(NATIVE(MPI_File_fromint)(number));
}

FACE_ENTRY(int, MPI_File_c2f, (void *file)) {
    return face_MPI_File_toint(file);
}

FACE_ENTRY(void *, MPI_File_f2c, (int number)) {
    return face_MPI_File_fromint(number);
}

/// MPI_DUP_FN and its relatives are this function.
FACE_EXTENSION(int, MPIR_Dup_fn, (int, int, void *, void *value, void *copy, int *flag)) {
    *flag = 1;
    *static_cast<void **>(copy) = value;
    return MPI_SUCCESS;
}

FACE_EXTENSION(int, MPIX_GPU_query_support, (int, int *is_supported)) {
    *is_supported = 0;
    return MPI_SUCCESS;
}

FACE_EXTENSION(int, MPIX_Query_hip_support, (void)) {
    return 0;
}

FACE_EXTENSION(int, MPIX_Query_ze_support, (void)) {
    return 0;
}

} // namespace volley::faces
