// SPDX-License-Identifier: BSD-3-Clause
/// What every entry point does around its work.
///
/// A Call refuses to begin where MPI may not be used, holds the rank's lock, publishes the function's number in the
/// rank's CallStatus (restored afterwards, as callbacks call MPI inside of MPI), and hands failures to an error
/// handler.
#pragma once

#include "core/engine.h"
#include "core/errhandler.h"
#include "core/error.h"
#include "core/session.h"

#include <atomic>
#include <cstdint>
#include <limits>

namespace volley {

class Call {
  public:
    /// A function that may be called at any time (MPI 5.0, section 11.4.1).
    struct Anytime {};

    explicit Call(std::uint32_t function) {
        if (!engine.available) [[unlikely]]
            refuse(function);
        enter(node.own->call_status.function, function);
    }

    Call(std::uint32_t function, Anytime) {
        enter(node.function(), function);
    }

    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    ~Call() {
        function_->store(previous_, std::memory_order_relaxed);
        if (locked_) [[unlikely]]
            engine.lock.release();
    }

    /// The code the entry point returns. Failures go to the handler of `communicator`; without one to that of the
    /// communicator that was blamed, or of MPI_COMM_SELF.
    int finish(int code) {
        if (code != MPI_SUCCESS) [[unlikely]]
            return raise(blamed(), code);
        return code;
    }
    int finish(Communicator &communicator, int code) {
        if (code != MPI_SUCCESS) [[unlikely]]
            return raise(&communicator, code);
        return code;
    }
    int finish(Session &session, int code) {
        if (code != MPI_SUCCESS) [[unlikely]]
            return raise(session, code);
        return code;
    }
    /// Where the error handler is for what the function was to make, which does not exist.
    int finish(Errhandler &errhandler, int code) {
        if (code != MPI_SUCCESS) [[unlikely]]
            return raise(errhandler, code);
        return code;
    }

  private:
    void enter(std::atomic<std::uint32_t> &published, std::uint32_t function) {
        // Whether the lock is in use is remembered: MPI_Init_thread turns it on in the middle of a call.
        locked_ = engine.lock.enabled();
        if (locked_) [[unlikely]]
            engine.lock.acquire();
        function_ = &published;
        previous_ = published.load(std::memory_order_relaxed);
        published.store(function, std::memory_order_relaxed);
        forget_blame();
    }

    /// MPI is not started, or over: says so through the initial error handler, and ends the job.
    [[noreturn, gnu::cold, gnu::noinline]] static void refuse(std::uint32_t function);

    std::atomic<std::uint32_t> *function_;
    std::uint32_t previous_;
    bool locked_;
};

/// A result for a parameter of type int (MPI 5.0, section 3.2.5 and others: MPI_UNDEFINED if it does not fit).
inline int narrow(MPI_Count value) {
    return value <= std::numeric_limits<int>::max() && value >= std::numeric_limits<int>::min()
               ? static_cast<int>(value)
               : MPI_UNDEFINED;
}

} // namespace volley
