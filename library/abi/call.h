// SPDX-License-Identifier: BSD-3-Clause
/// What every entry point does around its work.
///
/// A Call refuses to begin where MPI may not be used. It holds the rank's lock, or is inside as its owner. It publishes
/// the function's number in the rank's CallStatus, and restores the old number afterwards, since callbacks may call MPI
/// inside of MPI. It hands failures to an error handler.
#pragma once

#include "core/engine.h"
#include "core/errhandler.h"
#include "core/error.h"
#include "core/failures.h"
#include "core/session.h"
#include "core/window.h"
#include "file/file.h"

#include <atomic>
#include <cstdint>
#include <limits>

namespace volley {

class Call {
  public:
    /// A function that may be called at any time (MPI 5.0, section 11.4.1).
    struct Anytime {};

    explicit Call(std::uint32_t function) {
        if (!enter_as_owner(function)) [[unlikely]]
            enter(function, false);
    }

    Call(std::uint32_t function, Anytime) {
        if (!enter_as_owner(function)) [[unlikely]]
            enter(function, true);
    }

    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    ~Call() {
        function_->store(previous_, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (!engine.lock.is_owner()) [[unlikely]]
            leave();
    }

    /// The code that the entry point returns. Failures go to the error handler of `communicator`, or else of the
    /// communicator that was blamed, or else of MPI_COMM_SELF.
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
    int finish(Window &window, int code) {
        if (code != MPI_SUCCESS) [[unlikely]]
            return raise(window.errors, code);
        return code;
    }
    int finish(File &file, int code) {
        if (code != MPI_SUCCESS) [[unlikely]]
            return raise(file.target, code);
        return code;
    }
    /// Of functions of files: to the error handler of the file that was blamed, or else of MPI_FILE_NULL.
    int finish_without_file(int code) {
        if (code == MPI_SUCCESS) [[likely]]
            return code;
        return blamed() != nullptr ? raise(blamed(), code) : raise(File::no_file(), code);
    }
    /// The same with a given error handler, for functions whose object does not exist yet.
    int finish(Errhandler &errhandler, int code) {
        if (code != MPI_SUCCESS) [[unlikely]]
            return raise(errhandler, code);
        return code;
    }

  private:
    /// Enters without the lock (core/lock.h). False if the thread is not the owner, or no longer.
    bool enter_as_owner(std::uint32_t function) {
        if (!engine.lock.is_owner()) [[unlikely]]
            return false;
        function_ = &node.own->call_status.function;
        previous_ = function_->load(std::memory_order_relaxed);
        function_->store(function, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (!engine.lock.is_owner()) [[unlikely]]
            return withdraw();
        forget_blame();
        return true;
    }
    [[gnu::cold]] bool withdraw();
    [[gnu::noinline]] void enter(std::uint32_t function, bool anytime);
    [[gnu::noinline]] void leave();

    /// Reports through the initial error handler that MPI is not initialised, or is finalised, and ends the job.
    [[noreturn, gnu::cold, gnu::noinline]] static void refuse(std::uint32_t function);

    std::atomic<std::uint32_t> *function_;
    std::uint32_t previous_;
    bool locked_ = false;
};

/// A result for a parameter of type int (MPI 5.0, section 3.2.5 and others: MPI_UNDEFINED if it does not fit).
inline int narrow(MPI_Count value) {
    return value <= std::numeric_limits<int>::max() && value >= std::numeric_limits<int>::min()
               ? static_cast<int>(value)
               : MPI_UNDEFINED;
}

} // namespace volley
