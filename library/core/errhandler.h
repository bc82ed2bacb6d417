// SPDX-License-Identifier: BSD-3-Clause
/// Error handlers, and how a failure reaches one (MPI 5.0, section 9.3).
#pragma once

#include "core/callbacks.h"
#include "core/object.h"

#include <mpi.h>

#include <string>

namespace volley {

class Communicator;
class Errhandler;
class Session;

/// The kind of object that a function of an error handler is for, by the handle it gets.
template <class Handle> inline constexpr Mark errhandler_target = Mark::none;
template <> inline constexpr Mark errhandler_target<MPI_Comm> = Mark::communicator;
template <> inline constexpr Mark errhandler_target<MPI_Session> = Mark::session;
template <> inline constexpr Mark errhandler_target<MPI_File> = Mark::file;
template <> inline constexpr Mark errhandler_target<MPI_Win> = Mark::window;

/// What failures of a file or a window are raised on. A hidden communicator, whose messages are the object's, points
/// to it.
struct ErrorTarget {
    Mark kind;
    void *handle;           ///< the program's
    std::string name;       ///< for people: "the file 'results'"
    Errhandler *errhandler; ///< never nullptr; the target has a reference
};

class Errhandler final : public Object {
  public:
    static constexpr Mark kind = Mark::errhandler;

    /// MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN. They live as long as the library.
    static Errhandler &errors_are_fatal();
    static Errhandler &errors_abort();
    static Errhandler &errors_return();

    template <class Handle> static Errhandler *make(void (*function)(Handle *handle, int *code, ...)) {
        static_assert(errhandler_target<Handle> != Mark::none);
        return make(errhandler_target<Handle>, reinterpret_cast<Callback>(function));
    }

    /// nullptr for MPI_ERRHANDLER_NULL and for what is no error handler.
    static Errhandler *from_handle(MPI_Errhandler handle);
    MPI_Errhandler handle();

    /// What it may be attached to; the predefined ones to anything.
    bool fits(Mark target) const {
        return predefined_ != nullptr || target_ == target;
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

    /// Lets the handler deal with the failure; returns only if the handler does: what the function that has failed is
    /// to return, which a user's handler may change.
    int call(Communicator &communicator, int code);
    int call(Session &session, int code);
    int call(const ErrorTarget &target, int code);
    /// The same where there is no object: a user's function is told the null handle of its kind.
    int call(int code);

  private:
    friend class Pool<Errhandler>;
    explicit Errhandler(MPI_Errhandler predefined);
    Errhandler(Mark target, Callback function);
    ~Errhandler() = default;

    static Errhandler *make(Mark target, Callback function);
    int call_user(void *handle, int code);

    MPI_Errhandler predefined_ = nullptr; ///< its handle
    Mark target_ = Mark::none;
    Callback function_ = nullptr;       ///< for a handle of `target_`
    ErrhandlerCaller caller_ = nullptr; ///< of the function, if that is not to be called with our handles
};

/// Another error handler for an object.
void replace_errhandler(Errhandler *&place, Errhandler &errhandler);

/// Calls the error handler of the communicator, or of the file or window it belongs to. Without one, that of
/// MPI_COMM_SELF; before MPI_Init and after MPI_Finalize MPI_ERRORS_ARE_FATAL, the initial error handler. Returns
/// what the function that has failed is to return, if it returns.
[[gnu::cold]] int raise(Communicator *communicator, int code);
[[gnu::cold]] int raise(Session &session, int code);
[[gnu::cold]] int raise(ErrorTarget &target, int code);
[[gnu::cold]] int raise(Errhandler &errhandler, int code);

} // namespace volley
