// SPDX-License-Identifier: BSD-3-Clause
/// Why a job could not be started, in words for the person who typed the command.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace volley {

/// Exit statuses of mpiexec itself; otherwise it ends with the job's status. As shells use them.
enum class ExitStatus : int {
    success = 0,
    failure = 1, ///< the system refused something
    usage = 2,   ///< the command line is wrong
    not_executable = 126,
    not_found = 127,
};

/// A text that names the thing, the value seen and the remedy, and the exit status that goes with it.
class Error : public std::runtime_error {
  public:
    explicit Error(const std::string &text, ExitStatus status = ExitStatus::failure)
        : std::runtime_error(text), status_(status) {}

    [[nodiscard]] ExitStatus status() const {
        return status_;
    }

  private:
    ExitStatus status_;
};

/// An Error for a failed system call: "what: reason in words".
inline Error system_error(const std::string &what, int number = errno) {
    return Error(what + ": " + std::strerror(number));
}

} // namespace volley
