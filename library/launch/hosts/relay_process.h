// SPDX-License-Identifier: BSD-3-Clause
/// The process that is a host's relay (relay.h), as its launcher sees it.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "boot/arena.h"
#include "boot/descriptor.h"

namespace volley::launch {

class RelayProcess {
  public:
    /// Starts it. It takes connections at `listeners`, finds in the arena where ranks and other relays do, and ends
    /// with this process at the latest. Precondition: signals that must not end it are blocked. Throws Error.
    RelayProcess(const Arena &arena, std::vector<Descriptor> listeners);
    RelayProcess(const RelayProcess &) = delete;
    RelayProcess &operator=(const RelayProcess &) = delete;
    ~RelayProcess();

    void watch(std::vector<pollfd> &watched) const;
    /// The next that it has to say to the user.
    std::optional<std::string> take_note();
    /// Why it has ended, if it has said so before what take_note() returned last.
    [[nodiscard]] const std::string &reason() const {
        return reason_;
    }

    /// All ranks of this host have ended: it ends, once what they have sent has left this host.
    void finish();
    /// It ends at once.
    void kill();
    /// Whether that process is it; it has ended. If it was not told to, the job cannot go on.
    bool ended(pid_t process);
    [[nodiscard]] bool is_running() const {
        return process_ > 0;
    }
    [[nodiscard]] bool is_told_to_end() const {
        return is_told_to_end_;
    }

  private:
    Descriptor orders_;
    pid_t process_ = 0;
    std::string reason_;
    bool is_told_to_end_ = false;
};

} // namespace volley::launch
