// SPDX-License-Identifier: BSD-3-Clause
/// How callbacks of Fortran programs built for other MPIs are called: what the library hands to them is converted by
/// the face. Included by an interface's own interface.h, once it has said what its handles are.
#pragma once

#include "faces/fortran_hooks.h"

namespace volley {

using Callback = faces::PlainCallback;

} // namespace volley

namespace volley::fortran {

using LibraryDatatype = void *;

template <class Native> inline constexpr faces::HandleKind handle_kind{};
template <> inline constexpr faces::HandleKind handle_kind<MPI_Comm> = faces::HandleKind::comm;
template <> inline constexpr faces::HandleKind handle_kind<MPI_Datatype> = faces::HandleKind::datatype;
template <> inline constexpr faces::HandleKind handle_kind<MPI_Win> = faces::HandleKind::win;
template <> inline constexpr faces::HandleKind handle_kind<MPI_File> = faces::HandleKind::file;
template <> inline constexpr faces::HandleKind handle_kind<MPI_Session> = faces::HandleKind::session;

template <class Native> int fortran_handle(void *handle) {
    return volley_face_fortran_handle(handle_kind<Native>, handle);
}
inline int fortran_keyval(int keyval) {
    return volley_face_keyval(keyval);
}
inline int fortran_code(int code) {
    return volley_face_code(code);
}
inline int library_code(int code) {
    return volley_face_library_code(code);
}

inline void call_operation_by(MPI_Op op, faces::PlainReductionCaller caller) {
    volley_face_call_operation_by(faces::to_face(op), caller);
}
inline void call_errhandler_by(MPI_Errhandler errhandler, faces::PlainErrhandlerCaller caller) {
    volley_face_call_errhandler_by(faces::to_face(errhandler), caller);
}
inline void call_keyval_by(int keyval, faces::PlainCopyAttributeCaller copy, faces::PlainDeleteAttributeCaller remove) {
    volley_face_call_keyval_by(keyval, copy, remove);
}

} // namespace volley::fortran
