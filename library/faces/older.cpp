// SPDX-License-Identifier: BSD-3-Clause
/// Functions that the standard has removed (MPI 3.0, section 16.1), which programs built long ago still call, by means
/// of those that replaced them; and statuses in the form that Fortran has, which in both interfaces is the same as C's.
/// Compiled for each face.
#include FACE_HANDLES

#include "faces/callbacks.h"
#include "faces/entry.h"

namespace volley::faces {
namespace {

// The face's own functions.
extern "C" {
int get_address(const void *, MPI_Aint *) __asm__("PMPI_Get_address");
int create_errhandler(Callback, Face<MPI_Errhandler> *) __asm__("PMPI_Comm_create_errhandler");
int get_errhandler(Face<MPI_Comm>, Face<MPI_Errhandler> *) __asm__("PMPI_Comm_get_errhandler");
int set_errhandler(Face<MPI_Comm>, Face<MPI_Errhandler>) __asm__("PMPI_Comm_set_errhandler");
int get_extent(Face<MPI_Datatype>, MPI_Aint *, MPI_Aint *) __asm__("PMPI_Type_get_extent");
int create_hvector(int, int, MPI_Aint, Face<MPI_Datatype>, Face<MPI_Datatype> *) __asm__("PMPI_Type_create_hvector");
int create_hindexed(int, const int *, const MPI_Aint *, Face<MPI_Datatype>,
                    Face<MPI_Datatype> *) __asm__("PMPI_Type_create_hindexed");
int create_struct(int, const int *, const MPI_Aint *, const Face<MPI_Datatype> *,
                  Face<MPI_Datatype> *) __asm__("PMPI_Type_create_struct");
}

int copy_status(const void *from, void *to) {
    std::memcpy(to, from, sizeof(Status));
    return MPI_SUCCESS;
}

} // namespace

FACE_ENTRY(int, MPI_Address, (const void *location, MPI_Aint *address)) {
    return get_address(location, address);
}

FACE_ENTRY(int, MPI_Errhandler_create, (Callback function, Face<MPI_Errhandler> *errhandler)) {
    return create_errhandler(function, errhandler);
}

FACE_ENTRY(int, MPI_Errhandler_get, (Face<MPI_Comm> comm, Face<MPI_Errhandler> *errhandler)) {
    return get_errhandler(comm, errhandler);
}

FACE_ENTRY(int, MPI_Errhandler_set, (Face<MPI_Comm> comm, Face<MPI_Errhandler> errhandler)) {
    return set_errhandler(comm, errhandler);
}

FACE_ENTRY(int, MPI_Type_extent, (Face<MPI_Datatype> datatype, MPI_Aint *extent)) {
    MPI_Aint lower_bound = 0;
    return get_extent(datatype, &lower_bound, extent);
}

FACE_ENTRY(int, MPI_Type_lb, (Face<MPI_Datatype> datatype, MPI_Aint *displacement)) {
    MPI_Aint extent = 0;
    return get_extent(datatype, displacement, &extent);
}

FACE_ENTRY(int, MPI_Type_ub, (Face<MPI_Datatype> datatype, MPI_Aint *displacement)) {
    MPI_Aint lower_bound = 0, extent = 0;
    const int code = get_extent(datatype, &lower_bound, &extent);
    if (code == MPI_SUCCESS) *displacement = lower_bound + extent;
    return code;
}

FACE_ENTRY(int, MPI_Type_hvector,
           (int count, int blocklength, MPI_Aint stride, Face<MPI_Datatype> oldtype, Face<MPI_Datatype> *newtype)) {
    return create_hvector(count, blocklength, stride, oldtype, newtype);
}

FACE_ENTRY(int, MPI_Type_hindexed,
           (int count, const int *blocklengths, const MPI_Aint *displacements, Face<MPI_Datatype> oldtype,
            Face<MPI_Datatype> *newtype)) {
    return create_hindexed(count, blocklengths, displacements, oldtype, newtype);
}

FACE_ENTRY(int, MPI_Type_struct,
           (int count, const int *blocklengths, const MPI_Aint *displacements, const Face<MPI_Datatype> *types,
            Face<MPI_Datatype> *newtype)) {
    return create_struct(count, blocklengths, displacements, types, newtype);
}

FACE_ENTRY(int, MPI_Status_c2f, (const Status *c_status, int *f_status)) {
    return copy_status(c_status, f_status);
}

FACE_ENTRY(int, MPI_Status_f2c, (const int *f_status, Status *c_status)) {
    return copy_status(f_status, c_status);
}

FACE_ENTRY(int, MPI_Status_c2f08, (const Status *c_status, void *f08_status)) {
    return copy_status(c_status, f08_status);
}

FACE_ENTRY(int, MPI_Status_f082c, (const void *f08_status, Status *c_status)) {
    return copy_status(f08_status, c_status);
}

FACE_ENTRY(int, MPI_Status_f2f08, (const int *f_status, void *f08_status)) {
    return copy_status(f_status, f08_status);
}

FACE_ENTRY(int, MPI_Status_f082f, (const void *f08_status, int *f_status)) {
    return copy_status(f08_status, f_status);
}

// Nothing is done on graphics processors.
FACE_EXTENSION(int, MPIX_Query_cuda_support, (void)) {
    return 0;
}

FACE_EXTENSION(int, MPIX_Query_rocm_support, (void)) {
    return 0;
}

} // namespace volley::faces
