// SPDX-License-Identifier: BSD-3-Clause
/// Callbacks of programs whose handles are not this library's.
///
/// A face (library/faces) passes a program's function on as it is, and names a caller for it. The library then calls
/// the caller, which translates handles and codes and calls the function. Without a caller the library calls the
/// function itself.
#pragma once

#include <mpi.h>

namespace volley {

/// A function of the program; the caller knows its type.
using Callback = void (*)();

using ReductionCaller = void (*)(Callback function, void *in, void *inout, MPI_Count count, MPI_Datatype datatype);
/// `handle` points to the handle of the communicator, session, window or file. Returns the code that the function which
/// has failed is to return.
using ErrhandlerCaller = int (*)(Callback function, void *handle, int code);
/// `object` is the handle of a communicator, datatype or window.
using CopyAttributeCaller = int (*)(Callback function, void *object, int keyval, void *extra_state, void *value_in,
                                    void *value_out, int *flag);
using DeleteAttributeCaller = int (*)(Callback function, void *object, int keyval, void *value, void *extra_state);

} // namespace volley

// What faces call, once, before anybody else knows the object.
extern "C" {
[[gnu::visibility("default")]] void volley_call_operation_by(MPI_Op op, volley::ReductionCaller caller);
[[gnu::visibility("default")]] void volley_call_errhandler_by(MPI_Errhandler errhandler,
                                                              volley::ErrhandlerCaller caller);
[[gnu::visibility("default")]] void volley_call_keyval_by(int keyval, volley::CopyAttributeCaller copy,
                                                          volley::DeleteAttributeCaller remove);
}
