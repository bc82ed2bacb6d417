// SPDX-License-Identifier: BSD-3-Clause
/// Error handlers, and how a failure reaches one (MPI 5.0, section 9.3).
#pragma once

#include "core/callbacks.h"
#include "core/object.h"

#include <mpi.h>

namespace volley {

class Communicator;
class Session;

class Errhandler final : public Object {
  public:
    static constexpr Mark kind = Mark::errhandler;

    /// MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN. They live as long as the library.
    static Errhandler &errors_are_fatal();
    static Errhandler &errors_abort();
    static Errhandler &errors_return();

    static Errhandler *make(MPI_Comm_errhandler_function *function);
    static Errhandler *make(MPI_Session_errhandler_function *function);

    /// nullptr for MPI_ERRHANDLER_NULL and for what is no error handler.
    static Errhandler *from_handle(MPI_Errhandler handle);
    MPI_Errhandler handle();

    /// What it may be attached to; the predefined ones to anything.
    bool fits_communicators() const {
        return predefined_ != nullptr || communicator_function_ != nullptr;
    }
    bool fits_sessions() const {
        return predefined_ != nullptr || session_function_ != nullptr;
    }
    bool is_predefined() const {
        return predefined_ != nullptr;
    }

    /// Of a user's error handler.
    void call_by(ErrhandlerCaller caller) {
        caller_ = caller;
    }

    /// Gives one reference back; the last destroys the error handler, unless it is predefined.
    static void release(Errhandler &errhandler);

    /// Lets the handler deal with the failure; returns only if the handler does.
    void call(Communicator &communicator, int code);
    void call(Session &session, int code);
    /// The same where there is neither: a user's function is told MPI_COMM_NULL or MPI_SESSION_NULL.
    void call(int code);

  private:
    friend class Pool<Errhandler>;
    explicit Errhandler(MPI_Errhandler predefined);
    explicit Errhandler(MPI_Comm_errhandler_function *function);
    explicit Errhandler(MPI_Session_errhandler_function *function);
    ~Errhandler() = default;

    template <class Function, class Handle> void call_user(Function *function, Handle handle, int code);

    MPI_Errhandler predefined_ = nullptr; ///< its handle
    MPI_Comm_errhandler_function *communicator_function_ = nullptr;
    MPI_Session_errhandler_function *session_function_ = nullptr;
    ErrhandlerCaller caller_ = nullptr; ///< of the function, if that is not to be called with our handles
};

/// Calls the error handler of the communicator. Without one, that of MPI_COMM_SELF; before MPI_Init and after
/// MPI_Finalize MPI_ERRORS_ARE_FATAL, the initial error handler. Returns `code`, if it returns.
[[gnu::cold]] int raise(Communicator *communicator, int code);
[[gnu::cold]] int raise(Session &session, int code);
[[gnu::cold]] int raise(Errhandler &errhandler, int code);

} // namespace volley
