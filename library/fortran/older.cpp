// SPDX-License-Identifier: BSD-3-Clause
/// Procedures that the standard has removed (MPI 3.0, section 16.1), which programs built long ago still call. Their
/// addresses and displacements are of INTEGER. Compiled for the interfaces of other MPIs.
#include "fortran/callbacks.h"
#include "fortran/entry.h"

namespace volley::fortran {
namespace {

class AddressesIn {
  public:
    AddressesIn(const int *from, int count) : addresses_(count) {
        std::copy_n(from, addresses_.size(), addresses_.data());
    }
    operator const MPI_Aint *() {
        return addresses_.data();
    }

  private:
    Array<MPI_Aint> addresses_;
};

struct Bounds {
    explicit Bounds(int datatype) : code(MPI_Type_get_extent(to_native<MPI_Datatype>(datatype), &lower, &extent)) {}
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    int code;
};

void give(int *result, MPI_Aint value, int *ierror, int code) {
    if (code == MPI_SUCCESS) *result = static_cast<int>(value);
    return_code(ierror, code);
}

} // namespace

FORTRAN_ENTRY(mpi_address, (void *location, int *address, int *ierror)) {
    MPI_Aint result = 0;
    const int code = MPI_Get_address(buffer_to_c(location), &result);
    give(address, result, ierror, code);
}

FORTRAN_ENTRY(mpi_errhandler_create, (Callback function, int *errhandler, int *ierror)) {
    HandleOut<MPI_Errhandler> made(errhandler);
    const int code = MPI_Comm_create_errhandler(reinterpret_cast<MPI_Comm_errhandler_function *>(function), made);
    if (code == MPI_SUCCESS) call_errhandler_by(made.made(), call_errhandler<MPI_Comm>);
    return_code(ierror, code);
}

FORTRAN_ENTRY(mpi_errhandler_get, (const int *comm, int *errhandler, int *ierror)) {
    HandleOut<MPI_Errhandler> found(errhandler);
    return_code(ierror, MPI_Comm_get_errhandler(to_native<MPI_Comm>(*comm), found));
}

FORTRAN_ENTRY(mpi_errhandler_set, (const int *comm, const int *errhandler, int *ierror)) {
    return_code(ierror, MPI_Comm_set_errhandler(to_native<MPI_Comm>(*comm), to_native<MPI_Errhandler>(*errhandler)));
}

FORTRAN_ENTRY(mpi_type_extent, (const int *datatype, int *extent, int *ierror)) {
    const Bounds bounds(*datatype);
    give(extent, bounds.extent, ierror, bounds.code);
}

FORTRAN_ENTRY(mpi_type_lb, (const int *datatype, int *displacement, int *ierror)) {
    const Bounds bounds(*datatype);
    give(displacement, bounds.lower, ierror, bounds.code);
}

FORTRAN_ENTRY(mpi_type_ub, (const int *datatype, int *displacement, int *ierror)) {
    const Bounds bounds(*datatype);
    give(displacement, bounds.lower + bounds.extent, ierror, bounds.code);
}

FORTRAN_ENTRY(mpi_type_hvector, (const int *count, const int *blocklength, const int *stride, const int *oldtype,
                                 int *newtype, int *ierror)) {
    HandleOut<MPI_Datatype> made(newtype);
    return_code(ierror,
                MPI_Type_create_hvector(*count, *blocklength, *stride, to_native<MPI_Datatype>(*oldtype), made));
}

FORTRAN_ENTRY(mpi_type_hindexed, (const int *count, const int *blocklengths, const int *displacements,
                                  const int *oldtype, int *newtype, int *ierror)) {
    AddressesIn addresses(displacements, *count);
    HandleOut<MPI_Datatype> made(newtype);
    return_code(ierror,
                MPI_Type_create_hindexed(*count, blocklengths, addresses, to_native<MPI_Datatype>(*oldtype), made));
}

FORTRAN_ENTRY(mpi_type_struct, (const int *count, const int *blocklengths, const int *displacements, const int *types,
                                int *newtype, int *ierror)) {
    AddressesIn addresses(displacements, *count);
    HandlesIn<MPI_Datatype> natives(types, *count);
    HandleOut<MPI_Datatype> made(newtype);
    return_code(ierror, MPI_Type_create_struct(*count, blocklengths, addresses, natives, made));
}

} // namespace volley::fortran
