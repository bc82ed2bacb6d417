// SPDX-License-Identifier: BSD-3-Clause
/// What Open MPI's interface has beside the standard's functions: handles as integers, predefined callbacks, and the
/// few extensions that programs use.
#include "faces/openmpi/handles.h"

#include "core/callbacks.h"
#include "faces/entry.h"
#include "faces/openmpi/cxx.h"
#include "faces/openmpi/handle_kinds.h"

namespace {

int ignored_status[6]; // of a C program; Fortran's library has its own

} // namespace

extern "C" {
[[gnu::visibility("default")]] int *MPI_F_STATUS_IGNORE = ignored_status;
[[gnu::visibility("default")]] int *MPI_F_STATUSES_IGNORE = ignored_status;
[[gnu::visibility("default")]] int *MPI_F08_STATUS_IGNORE = ignored_status;
[[gnu::visibility("default")]] int *MPI_F08_STATUSES_IGNORE = ignored_status;
}

namespace volley::faces {

// Both by the names of this interface and by those of newer versions of the standard: whatever the face does not have,
// the dynamic linker might find in the library, which has other handles.
#define HANDLE_AS_INTEGER(kind, handle)                                                                                \
    DECLARE_NATIVE(MPI_##kind##_toint);                                                                                \
    DECLARE_NATIVE(MPI_##kind##_fromint);                                                                              \
    FACE_ENTRY(int, MPI_##kind##_toint, (void *object)) {                                                              \
        return fortran_number(NATIVE(MPI_##kind##_toint)(to_native<handle>(object)));                                  \
    }                                                                                                                  \
    FACE_ENTRY(void *, MPI_##kind##_fromint, (int number)) {                                                           \
        return to_face(NATIVE(MPI_##kind##_fromint)(library_number<handle>(number)));                                  \
    }                                                                                                                  \
    FACE_ENTRY(int, MPI_##kind##_c2f, (void *object)) {                                                                \
        return fortran_number(NATIVE(MPI_##kind##_toint)(to_native<handle>(object)));                                  \
    }                                                                                                                  \
    FACE_ENTRY(void *, MPI_##kind##_f2c, (int number)) {                                                               \
        return to_face(NATIVE(MPI_##kind##_fromint)(library_number<handle>(number)));                                  \
    }
FOR_EACH_HANDLE_KIND(HANDLE_AS_INTEGER)

// Callbacks of attributes that do the usual: the constants MPI_COMM_DUP_FN and its relatives are these functions.
#define PREDEFINED_CALLBACKS(prefix)                                                                                   \
    FACE_EXTENSION(int, OMPI_C_MPI_##prefix##NULL_DELETE_FN, (void *, int, void *, void *)) {                          \
        return MPI_SUCCESS;                                                                                            \
    }                                                                                                                  \
    FACE_EXTENSION(int, OMPI_C_MPI_##prefix##NULL_COPY_FN, (void *, int, void *, void *, void *, int *flag)) {         \
        *flag = 0;                                                                                                     \
        return MPI_SUCCESS;                                                                                            \
    }                                                                                                                  \
    FACE_EXTENSION(int, OMPI_C_MPI_##prefix##DUP_FN, (void *, int, void *, void *value, void *copy, int *flag)) {      \
        *flag = 1;                                                                                                     \
        *static_cast<void **>(copy) = value;                                                                           \
        return MPI_SUCCESS;                                                                                            \
    }
PREDEFINED_CALLBACKS()
PREDEFINED_CALLBACKS(COMM_)
PREDEFINED_CALLBACKS(TYPE_)
PREDEFINED_CALLBACKS(WIN_)

/// Programs name it if they were compiled with mpicxx, and call it if they use the bindings for C++ (cxx.cpp).
FACE_EXTENSION(void, ompi_op_set_cxx_callback, (void *, Callback)) {
    refuse_cxx("MPI::Op::Init");
}

/// Hints for a session that there is; none of them means anything here.
FACE_ENTRY(int, MPI_Session_set_info, (void *, void *)) {
    return MPI_SUCCESS;
}

} // namespace volley::faces
