// SPDX-License-Identifier: BSD-3-Clause
/// What a face does for its interface's library for Fortran (library/fortran/face.h), whose callbacks the library calls
/// with its own handles, codes and keys. Types are plain, as the two are compiled with different headers mpi.h.
#pragma once

#include <cstdint>

namespace volley::faces {

enum class HandleKind : int { comm, datatype, win, file, session };

// As in core/callbacks.h.
using PlainCallback = void (*)();
using PlainReductionCaller = void (*)(PlainCallback function, void *in, void *inout, std::int64_t count,
                                      void *datatype);
using PlainErrhandlerCaller = int (*)(PlainCallback function, void *handle, int code);
using PlainCopyAttributeCaller = int (*)(PlainCallback function, void *object, int keyval, void *extra_state,
                                         void *value_in, void *value_out, int *flag);
using PlainDeleteAttributeCaller = int (*)(PlainCallback function, void *object, int keyval, void *value,
                                           void *extra_state);

} // namespace volley::faces

extern "C" {
/// The interface's number in Fortran for a handle of the library.
[[gnu::visibility("default")]] int volley_face_fortran_handle(volley::faces::HandleKind kind, void *handle);
[[gnu::visibility("default")]] int volley_face_keyval(int keyval);
[[gnu::visibility("default")]] int volley_face_code(int code);
[[gnu::visibility("default")]] int volley_face_library_code(int code);
// `op` and `errhandler` are numbers in Fortran.
[[gnu::visibility("default")]] void volley_face_call_operation_by(int op, volley::faces::PlainReductionCaller caller);
[[gnu::visibility("default")]] void volley_face_call_errhandler_by(int errhandler,
                                                                   volley::faces::PlainErrhandlerCaller caller);
[[gnu::visibility("default")]] void volley_face_call_keyval_by(int keyval, volley::faces::PlainCopyAttributeCaller copy,
                                                               volley::faces::PlainDeleteAttributeCaller remove);
}
