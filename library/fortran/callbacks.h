// SPDX-License-Identifier: BSD-3-Clause
/// The library calls these instead of a Fortran program's callbacks, and they call the program's as Fortran calls: all
/// arguments by reference, handles as integers, the code in the last argument.
#pragma once

#include "fortran/conversion.h"

namespace volley::fortran {

inline void call_operation(Callback function, void *in, void *inout, MPI_Count count, LibraryDatatype datatype) {
    int length = static_cast<int>(count);
    int handle = fortran_handle<MPI_Datatype>(datatype);
    reinterpret_cast<void (*)(void *, void *, int *, int *)>(function)(in, inout, &length, &handle);
}

inline void call_large_operation(Callback function, void *in, void *inout, MPI_Count count, LibraryDatatype datatype) {
    int handle = fortran_handle<MPI_Datatype>(datatype);
    reinterpret_cast<void (*)(void *, void *, MPI_Count *, int *)>(function)(in, inout, &count, &handle);
}

template <class Native> int call_errhandler(Callback function, void *handle, int code) {
    int object = fortran_handle<Native>(*static_cast<void **>(handle));
    const int given = fortran_code(code);
    int returned = given;
    reinterpret_cast<void (*)(int *, int *)>(function)(&object, &returned);
    return returned == given ? code : library_code(returned);
}

} // namespace volley::fortran
