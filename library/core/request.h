// SPDX-License-Identifier: BSD-3-Clause
/// Requests: operations under way. Private to their rank, so virtual functions are fine here.
#pragma once

#include "core/engine.h"
#include "core/object.h"
#include "core/status.h"
#include "layout/checked.h"
#include "transport/message.h"

#include <mpi.h>

#include <cstdint>

namespace volley {

class Communicator;

/// The completion of a message from or to MPI_PROC_NULL.
inline constexpr Completion no_process{.source = MPI_PROC_NULL, .tag = MPI_ANY_TAG};

/// Fills a status, unless it is MPI_STATUS_IGNORE; MPI_ERROR is left alone, as the standard wants it.
void set_status(MPI_Status *status, const Completion &completion);

/// Base of all requests. The code that does a request's work calls complete(); MPI_Wait, MPI_Test and their relatives
/// then call finish(), and retire() before they dispose of the request.
///
/// The user's handle is the address of a RequestHandle, not of the Request: an object's mark must come first in memory,
/// where a class with virtual functions has its table pointer.
class Request {
  public:
    Request() = default;
    Request(const Request &) = delete;
    Request &operator=(const Request &) = delete;

    bool is_complete() const {
        return complete_;
    }
    /// False for a persistent request that is not started: Wait and Test return at once with an empty status.
    bool is_active() const {
        return active_;
    }
    bool is_persistent() const {
        return persistent_;
    }

    /// Marks the operation as done; its result is in `completion`.
    void complete() {
        complete_ = true;
        engine.wake_own_threads();
        if (abandoned_) [[unlikely]]
            dispose();
    }

    /// Begins the operation; only persistent requests can begin again. Returns an error code.
    virtual int start();
    /// MPI_Cancel: asks for cancellation; `completion.cancelled` says later whether it succeeded.
    virtual int cancel();
    /// Called once by Wait/Test after completion, and may still change `completion` (a generalized request asks the
    /// program here). Returns the operation's error code.
    virtual int finish() {
        return completion.error;
    }
    /// Called by Wait/Test before they dispose of the request; may return an error of its own.
    virtual int retire() {
        return MPI_SUCCESS;
    }
    /// Called again and again while a call waits for this request and for nothing else.
    virtual void attend() {}
    /// Whether a wait for the request is to end though it is not complete, since the message it waits for may have been
    /// to come from a process that has failed. It may be waited for again once that is acknowledged.
    virtual bool is_interrupted() const {
        return false;
    }
    /// Name for messages and mpitask: "MPI_Isend".
    virtual const char *name() const = 0;
    /// What a call that waits for this request publishes.
    virtual WaitingFor about() const {
        return {};
    }

    /// MPI_Request_free: disposes of the request now if it is complete or inactive, else when it completes.
    void abandon();

    /// The user's handle, made on first use.
    MPI_Request handle();
    /// nullptr for MPI_REQUEST_NULL (check for that first) and for a handle that names no request.
    static Request *from_handle(MPI_Request handle);

    /// Destroys the request and its handle.
    void dispose();

    /// After Wait or Test of a persistent request: it may be started again.
    void deactivate() {
        active_ = false;
    }

    Completion completion;
    Communicator *communicator = nullptr; ///< for error handlers; retained by kinds that need it to live

  protected:
    virtual ~Request() = default;
    /// Frees the object; requests that come from a pool return to it.
    virtual void destroy() {
        delete this;
    }

    bool complete_ = false;
    bool active_ = true;
    bool persistent_ = false;

  private:
    bool abandoned_ = false;
    struct RequestHandle *handle_ = nullptr;
};

struct RequestHandle final : Object {
    static constexpr Mark kind = Mark::request;
    explicit RequestHandle(Request *named) : Object(Mark::request), request(named) {}
    Request *request;
};

/// Waits until the request is complete, progressing everything. False if the wait has been interrupted.
bool wait_for(Request &request);
/// The error code of a wait that was interrupted.
[[gnu::cold]] int interruption(Request &request);

/// Ends an operation that the user waited or tested for: fills the status and returns the error code. A persistent
/// request becomes inactive; any other is disposed of, and `handle` becomes MPI_REQUEST_NULL.
int retire(Request &request, MPI_Request *handle, MPI_Status *status);

} // namespace volley
