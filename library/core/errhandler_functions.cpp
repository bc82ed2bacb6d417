// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Comm_..._errhandler, MPI_Session_..._errhandler, MPI_Errhandler_free, and making those of files and windows
/// (MPI 5.0, section 9.3).
#include "core/communicator.h"
#include "core/errhandler.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/session.h"
#include "core/window.h"

namespace volley {
namespace {

template <class Function> int create(const char *argument, Function *function, MPI_Errhandler *errhandler) {
    if (function == nullptr) return fail(MPI_ERR_ARG, "%s is a null pointer, but must be a function", argument);
    *errhandler = Errhandler::make(function)->handle();
    return MPI_SUCCESS;
}

int wrong_kind(const char *wanted) {
    return fail(MPI_ERR_ARG, "errhandler was made for another kind of object, but must be one for a %s", wanted);
}

} // namespace

int mpi::Comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn, MPI_Errhandler *errhandler) {
    return create("comm_errhandler_fn", comm_errhandler_fn, errhandler);
}

int mpi::Comm_set_errhandler(Communicator &comm, Errhandler &errhandler) {
    if (!errhandler.fits(Mark::communicator)) return wrong_kind("communicator");
    replace_errhandler(comm.errhandler, errhandler);
    return MPI_SUCCESS;
}

int mpi::Comm_get_errhandler(Communicator &comm, MPI_Errhandler *errhandler) {
    // The caller frees what it gets.
    comm.errhandler->retain();
    *errhandler = comm.errhandler->handle();
    return MPI_SUCCESS;
}

int mpi::Comm_call_errhandler(Communicator &comm, int errorcode) {
    raise(&comm, errorcode);
    return MPI_SUCCESS;
}

int mpi::Session_create_errhandler(MPI_Session_errhandler_function *session_errhandler_fn, MPI_Errhandler *errhandler) {
    return create("session_errhandler_fn", session_errhandler_fn, errhandler);
}

int mpi::Session_set_errhandler(Session &session, Errhandler &errhandler) {
    if (!errhandler.fits(Mark::session)) return wrong_kind("session");
    replace_errhandler(session.errhandler, errhandler);
    return MPI_SUCCESS;
}

int mpi::Session_get_errhandler(Session &session, MPI_Errhandler *errhandler) {
    session.errhandler->retain();
    *errhandler = session.errhandler->handle();
    return MPI_SUCCESS;
}

int mpi::Session_call_errhandler(Session &session, int errorcode) {
    raise(session, errorcode);
    return MPI_SUCCESS;
}

int mpi::File_create_errhandler(MPI_File_errhandler_function *file_errhandler_fn, MPI_Errhandler *errhandler) {
    return create("file_errhandler_fn", file_errhandler_fn, errhandler);
}

int mpi::Win_create_errhandler(MPI_Win_errhandler_function *win_errhandler_fn, MPI_Errhandler *errhandler) {
    return create("win_errhandler_fn", win_errhandler_fn, errhandler);
}

int mpi::Win_set_errhandler(Window &win, Errhandler &errhandler) {
    if (!errhandler.fits(Mark::window)) return wrong_kind("window");
    replace_errhandler(win.errors.errhandler, errhandler);
    return MPI_SUCCESS;
}

int mpi::Win_get_errhandler(Window &win, MPI_Errhandler *errhandler) {
    win.errors.errhandler->retain();
    *errhandler = win.errors.errhandler->handle();
    return MPI_SUCCESS;
}

int mpi::Win_call_errhandler(Window &win, int errorcode) {
    raise(win.errors, errorcode);
    return MPI_SUCCESS;
}

int mpi::Errhandler_free(MPI_Errhandler *errhandler) {
    Errhandler *named = Errhandler::from_handle(*errhandler);
    if (named == nullptr)
        return fail(MPI_ERR_ERRHANDLER, "errhandler is %s, but must be an error handler",
                    *errhandler == MPI_ERRHANDLER_NULL ? "MPI_ERRHANDLER_NULL" : "none, or one that was freed");
    // MPI_Comm_get_errhandler gives predefined ones too, and what it gives may be freed.
    Errhandler::release(*named);
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

} // namespace volley
