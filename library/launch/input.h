// SPDX-License-Identifier: BSD-3-Clause
/// Standard input: rank 0 reads mpiexec's, the others find it empty.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "boot/descriptor.h"

namespace volley::launch {

/// Rank 0 inherits mpiexec's standard input, unless that is a terminal: ranks are in a process group of their
/// own, which may not read it, so mpiexec reads it for them and passes it on through a pipe. A node daemon gets from
/// mpiexec what it passes on.
class Input {
  public:
    enum class Source { own, mpiexec };
    explicit Input(Source source = Source::own);

    /// What becomes the rank's standard input.
    [[nodiscard]] int rank_end(int rank) const;
    /// Once all ranks have started: closes their ends here.
    void ranks_started();

    /// Adds what to wait for.
    void watch(std::vector<pollfd> &watched);
    /// Moves what came, as far as it goes without waiting.
    void advance();
    /// From mpiexec, at a node daemon; nothing is the end of the input.
    void feed(const std::string &bytes);
    /// How many bytes of it have been passed on since this was last called.
    int passed_on();
    /// mpiexec may have come to the terminal's foreground.
    void resume() {
        in_background_ = false;
    }

  private:
    Descriptor empty_;   ///< /dev/null
    Descriptor to_rank_; ///< this end of the pipe, if there is one
    Descriptor rank_end_;
    bool is_fed_;
    bool ends_ = false; ///< once all that is pending has been passed on
    int passed_on_ = 0;
    bool in_background_ = false;
    std::string pending_;
};

} // namespace volley::launch
