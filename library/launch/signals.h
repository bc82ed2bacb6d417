// SPDX-License-Identifier: BSD-3-Clause
/// Signals to mpiexec, read from a descriptor instead of interrupting it.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>

#include "boot/descriptor.h"

namespace volley::launch {

/// Asks mpiexec what the job is doing. Not one of those passed on, which may mean something to programs; and sent to
/// a wrong process it is harmless, as nobody who does not expect it notices.
inline constexpr int view_signal = SIGURG;

/// Blocks the signals mpiexec acts on, those passed on to ranks and SIGCHLD, and SIGPIPE, so that a closed
/// output is an error of write. A signal that was ignored when mpiexec started (nohup) stays ignored by all.
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

  private:
    Descriptor file_;
    sigset_t original_ = {};
};

/// "SIGSEGV" and so on.
const char *signal_name(int number);

} // namespace volley::launch
