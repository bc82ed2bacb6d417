// SPDX-License-Identifier: BSD-3-Clause
/// libmpi_cxx. The standard has removed the bindings for C++ (MPI 3.0, section 16.2), but what was compiled with Open
/// MPI's mpicxx names a few of their functions, called or not: its mpi.h defines classes with tables of virtual
/// functions. These are here, so that such libraries load; PETSc's and Trilinos' are among them. What programs call
/// that use the bindings is not, and the dynamic linker names it.
#include "faces/openmpi/handles.h"

#include "faces/openmpi/cxx.h"

namespace volley::faces {

/// An object of the bindings: a pointer to its functions, and a handle.
struct Object {
    void *functions;
    void *handle;
};

extern "C" {
int type_free(void **) __asm__("PMPI_Type_free");
int win_free(void **) __asm__("PMPI_Win_free");

// The names that C++ has for MPI::Comm::Comm(), MPI::Datatype::Free() and MPI::Win::Free().
[[gnu::visibility("default")]] void construct_comm(Object *comm) __asm__("_ZN3MPI4CommC2Ev");
[[gnu::visibility("default")]] void free_datatype(Object *datatype) __asm__("_ZN3MPI8Datatype4FreeEv");
[[gnu::visibility("default")]] void free_window(Object *window) __asm__("_ZN3MPI3Win4FreeEv");
[[gnu::visibility("default")]] void ompi_mpi_cxx_op_intercept(void *, void *, int *, void *, void *);
}

void construct_comm(Object *comm) {
    comm->handle = &ompi_mpi_comm_null;
}

void free_datatype(Object *datatype) {
    type_free(&datatype->handle);
}

void free_window(Object *window) {
    win_free(&window->handle);
}

/// Calls a reduction operation of the bindings; without them it is never called.
void ompi_mpi_cxx_op_intercept(void *, void *, int *, void *, void *) {
    refuse_cxx("MPI::Op::Init");
}

} // namespace volley::faces
