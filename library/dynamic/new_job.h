// SPDX-License-Identifier: BSD-3-Clause
/// Starting a further job: an mpiexec of its own runs it. This rank's mpiexec starts that one, so the job outlives this
/// rank; where there is none (another launcher, a program without one), this process does.
///
/// A socket stays between this process and the new mpiexec until the new job has connected. Over it comes why that
/// mpiexec could not start the job; and it closes with it.
#pragma once

#include "boot/descriptor.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace volley {

class NewJob {
  public:
    /// `words` are mpiexec's arguments; the ranks find `port`, where their parents wait, in their environment.
    /// `launcher` is the number of mpiexec's socket, or 0. Throws Error.
    NewJob(const std::vector<std::string> &words, const std::string &port, std::uint32_t launcher);

    [[nodiscard]] int descriptor() const {
        return socket_.get();
    }
    /// The job has ended, or was never started.
    bool has_ended();
    /// Why it was not started, if its mpiexec has said so.
    [[nodiscard]] const std::string &reason() const {
        return reason_;
    }

  private:
    Descriptor socket_;
    std::string reason_;
};

} // namespace volley
