// SPDX-License-Identifier: BSD-3-Clause
#include "core/errhandler.h"

#include "boot/function_names.h"
#include "core/communicator.h"
#include "core/engine.h"
#include "core/error.h"
#include "core/failures.h"
#include "core/session.h"
#include "transport/abort.h"

#include <unistd.h>

#include <array>
#include <string>

namespace volley {
namespace {

Pool<Errhandler> pool;

/// What ends a job: who failed, doing what, why.
void tell(const std::string &object, int code) {
    std::array<char, MPI_MAX_ERROR_STRING> reason{};
    error_string(code, reason.data());
    std::string message = "Volley: rank " + std::to_string(node.rank) + ": ";
    std::string_view function = function_names[node.function().load(std::memory_order_relaxed)];
    message += function.empty() ? "a call of an error handler" : function;
    if (!object.empty()) message += " on " + object;
    message += " failed: ";
    message += reason.data();
    message += '\n';
    // One write, so that the lines of several ranks do not mix.
    if (write(STDERR_FILENO, message.data(), message.size()) < 0) {
        // Nobody reads the message; the exit status still shows the failure.
    }
}

[[noreturn]] void end_job(const std::string &object, int code) {
    tell(object, code);
    abort_job(class_of_any_code(code));
}

std::string describe(const Communicator &communicator) {
    std::string name(communicator.name());
    if (!name.empty()) return name;
    return std::string(communicator.is_inter() ? "an intercommunicator" : "a communicator") + " of " +
           std::to_string(communicator.size()) + " ranks";
}

void *null_handle(Mark target) {
    switch (target) {
    case Mark::session:
        return MPI_SESSION_NULL;
    case Mark::file:
        return MPI_FILE_NULL;
    case Mark::window:
        return MPI_WIN_NULL;
    default:
        return MPI_COMM_NULL;
    }
}

} // namespace

Errhandler::Errhandler(MPI_Errhandler predefined) : Object(kind), predefined_(predefined) {}

Errhandler::Errhandler(Mark target, Callback function) : Object(kind), target_(target), function_(function) {}

Errhandler &Errhandler::errors_are_fatal() {
    static Errhandler *const handler = pool.make(MPI_ERRORS_ARE_FATAL);
    return *handler;
}

Errhandler &Errhandler::errors_abort() {
    static Errhandler *const handler = pool.make(MPI_ERRORS_ABORT);
    return *handler;
}

Errhandler &Errhandler::errors_return() {
    static Errhandler *const handler = pool.make(MPI_ERRORS_RETURN);
    return *handler;
}

Errhandler *Errhandler::make(Mark target, Callback function) {
    return pool.make(target, function);
}

Errhandler *Errhandler::from_handle(MPI_Errhandler handle) {
    if (handle == MPI_ERRORS_ARE_FATAL) return &errors_are_fatal();
    if (handle == MPI_ERRORS_ABORT) return &errors_abort();
    if (handle == MPI_ERRORS_RETURN) return &errors_return();
    return object_of<Errhandler>(handle);
}

MPI_Errhandler Errhandler::handle() {
    return predefined_ != nullptr ? predefined_ : reinterpret_cast<MPI_Errhandler>(this);
}

void Errhandler::release(Errhandler &errhandler) {
    if (errhandler.predefined_ != nullptr) return;
    if (static_cast<Object &>(errhandler).release()) pool.destroy(&errhandler);
}

int Errhandler::call_user(void *handle, int code) {
    // All handles are pointers.
    if (caller_ != nullptr) return caller_(function_, &handle, code);
    reinterpret_cast<void (*)(void **, int *, ...)>(function_)(&handle, &code);
    return code;
}

int Errhandler::call(Communicator &communicator, int code) {
    if (predefined_ == MPI_ERRORS_RETURN) return code;
    if (predefined_ == MPI_ERRORS_ABORT) {
        tell(describe(communicator), code);
        abort_members(communicator, class_of_any_code(code));
    }
    if (predefined_ != nullptr) end_job(describe(communicator), code);
    return call_user(communicator.handle(), code);
}

int Errhandler::call(Session &session, int code) {
    if (predefined_ == MPI_ERRORS_RETURN) return code;
    if (predefined_ != nullptr) end_job("a session", code);
    return call_user(session.handle(), code);
}

int Errhandler::call(const ErrorTarget &target, int code) {
    if (predefined_ == MPI_ERRORS_RETURN) return code;
    if (predefined_ != nullptr) end_job(target.name, code);
    return call_user(target.handle, code);
}

int Errhandler::call(int code) {
    if (predefined_ == MPI_ERRORS_RETURN) return code;
    if (predefined_ != nullptr) end_job("", code);
    return call_user(null_handle(target_), code);
}

void replace_errhandler(Errhandler *&place, Errhandler &errhandler) {
    errhandler.retain();
    Errhandler::release(*place);
    place = &errhandler;
}

int raise(Communicator *communicator, int code) {
    if (communicator == nullptr && engine.phase == Phase::initialised) communicator = &Communicator::self();
    if (communicator == nullptr) end_job("", code);
    if (communicator->error_target != nullptr) return raise(*communicator->error_target, code);
    // The handler may free the communicator and set another handler.
    Errhandler &errhandler = *communicator->errhandler;
    communicator->retain();
    errhandler.retain();
    code = errhandler.call(*communicator, code);
    Errhandler::release(errhandler);
    Communicator::release(*communicator);
    return code;
}

int raise(Session &session, int code) {
    Errhandler &errhandler = *session.errhandler;
    errhandler.retain();
    code = errhandler.call(session, code);
    Errhandler::release(errhandler);
    return code;
}

int raise(ErrorTarget &target, int code) {
    // The handler may close the file, or free the window, and set another handler.
    const ErrorTarget raised = target;
    raised.errhandler->retain();
    code = raised.errhandler->call(raised, code);
    Errhandler::release(*raised.errhandler);
    return code;
}

int raise(Errhandler &errhandler, int code) {
    errhandler.retain();
    code = errhandler.call(code);
    Errhandler::release(errhandler);
    return code;
}

} // namespace volley
