// SPDX-License-Identifier: BSD-3-Clause
/// Signals to mpiexec, read from a descriptor instead of interrupting it.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>

#include "boot/descriptor.h"

namespace volley::launch {

/// Asks mpiexec what the job is doing. This is not a signal that is passed on to ranks, as those may mean something to
/// programs. It is harmless if sent to a wrong process, since processes ignore it by default.
inline constexpr int view_signal = SIGURG;

/// Blocks the signals that mpiexec acts on: those passed on to ranks, and SIGCHLD. SIGPIPE is blocked too, so that a
/// closed output is an error of write. A signal that was ignored when mpiexec started (nohup) stays ignored by all.
class Signals {
  public:
    Signals();

    [[nodiscard]] int descriptor() const {
        return file_.get();
    }
    /// The next signal that came, if any. Does not wait.
    [[nodiscard]] std::optional<int> take() const;

    /// The mask mpiexec was started with, which is the ranks', too.
    [[nodiscard]] std::uint64_t original_mask() const;
    /// In a child that becomes another program: it gets signals as this process once did.
    void restore() const;

  private:
    Descriptor file_;
    sigset_t original_ = {};
};

/// Whether a signal asks a program to end.
bool asks_to_end(int number);

/// "SIGSEGV" and so on.
const char *signal_name(int number);

} // namespace volley::launch
