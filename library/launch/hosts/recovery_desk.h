// SPDX-License-Identifier: BSD-3-Clause
/// A node daemon's part in recovery from failures: what its ranks ask of the other hosts (boot/recovery_request.h) it
/// passes on to mpiexec, and what mpiexec tells all daemons it writes to the arena.
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "boot/arena.h"
#include "boot/recovery_request.h"
#include "launch/hosts/channel.h"

namespace volley::launch {

class RecoveryDesk {
  public:
    /// Publishes where ranks ask. Throws Error.
    explicit RecoveryDesk(Arena &arena);

    void watch(std::vector<pollfd> &watched) const;
    /// Passes requests on.
    void advance(Channel &mpiexec);
    /// News of mpiexec's. True if it is one of these, and all ranks are to be woken.
    bool take(const Frame &news);

  private:
    void decided(const Decision &decision);
    DecisionTicket *ticket_at(std::uint64_t offset) const;

    Arena &arena_;
    Descriptor socket_;
    /// Where members wait, by context and number of the agreement.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> waiting_;
};

} // namespace volley::launch
