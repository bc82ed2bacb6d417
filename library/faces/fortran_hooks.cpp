// SPDX-License-Identifier: BSD-3-Clause
#include FACE_HANDLES

#include "faces/fortran_hooks.h"
#include "core/callbacks.h"

namespace volley::faces {
namespace {

// The face's own functions.
extern "C" {
int comm_c2f(Face<MPI_Comm>) __asm__("PMPI_Comm_c2f");
int type_c2f(Face<MPI_Datatype>) __asm__("PMPI_Type_c2f");
int win_c2f(Face<MPI_Win>) __asm__("PMPI_Win_c2f");
int file_c2f(Face<MPI_File>) __asm__("PMPI_File_c2f");
int session_c2f(Face<MPI_Session>) __asm__("PMPI_Session_c2f");
Face<MPI_Op> op_f2c(int) __asm__("PMPI_Op_f2c");
Face<MPI_Errhandler> errhandler_f2c(int) __asm__("PMPI_Errhandler_f2c");
}

} // namespace
} // namespace volley::faces

using namespace volley::faces;

int volley_face_fortran_handle(HandleKind kind, void *handle) {
    switch (kind) {
    case HandleKind::comm:
        return comm_c2f(to_face(static_cast<MPI_Comm>(handle)));
    case HandleKind::datatype:
        return type_c2f(to_face(static_cast<MPI_Datatype>(handle)));
    case HandleKind::win:
        return win_c2f(to_face(static_cast<MPI_Win>(handle)));
    case HandleKind::file:
        return file_c2f(to_face(static_cast<MPI_File>(handle)));
    case HandleKind::session:
        return session_c2f(to_face(static_cast<MPI_Session>(handle)));
    }
    return 0;
}

int volley_face_keyval(int keyval) {
    return keyval_to_face(keyval);
}

int volley_face_code(int code) {
    return code_to_face(code);
}

int volley_face_library_code(int code) {
    return code_to_native(code);
}

void volley_face_call_operation_by(int op, PlainReductionCaller caller) {
    volley_call_operation_by(to_native<MPI_Op>(op_f2c(op)), reinterpret_cast<volley::ReductionCaller>(caller));
}

void volley_face_call_errhandler_by(int errhandler, PlainErrhandlerCaller caller) {
    volley_call_errhandler_by(to_native<MPI_Errhandler>(errhandler_f2c(errhandler)), caller);
}

void volley_face_call_keyval_by(int keyval, PlainCopyAttributeCaller copy, PlainDeleteAttributeCaller remove) {
    volley_call_keyval_by(keyval_to_native(keyval), copy, remove);
}
