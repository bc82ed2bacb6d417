// SPDX-License-Identifier: BSD-3-Clause
/// mpiexec's standard input, on its way to a rank on another host.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

namespace volley::launch {

/// Reads only as much as has been passed on at the other end, but for a window: what nobody reads stays where it is.
class StandardInput {
  public:
    void watch(std::vector<pollfd> &watched) const;
    /// What there is to be sent; empty at the end of the input.
    std::optional<std::string> take();
    /// So many bytes have been passed on.
    void passed_on(int bytes) {
        window_ += bytes;
    }
    /// mpiexec may have come to the terminal's foreground.
    void resume() {
        in_background_ = false;
    }

  private:
    [[nodiscard]] bool is_readable() const {
        return !ended_ && !in_background_ && window_ > 0;
    }

    int window_ = 64 * 1024;
    bool ended_ = false;
    bool in_background_ = false;
};

} // namespace volley::launch
