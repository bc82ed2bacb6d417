// SPDX-License-Identifier: BSD-3-Clause
/// Whether the other end of a channel is gone, or only stands still.
///
/// Both ends say now and then that they are there. A host whose processes are frozen says nothing, and neither does one
/// whose cable is out. The kernel of the first still completes TCP connections to sockets that its processes listen at:
/// so whoever hears nothing connects to one of them, and closes the connection at once. A virtual machine that is
/// stopped as a whole answers nothing, and counts as gone.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "boot/descriptor.h"
#include "boot/job.h"
#include "launch/clock.h"

namespace volley::launch {

/// How often mpiexec and node daemons on other hosts say that they are there, and how long the other side waits for it.
/// With the time that ranks have to end, a job ends within five seconds if a host vanishes.
inline constexpr std::chrono::milliseconds beat_interval{1000};
inline constexpr std::chrono::milliseconds longest_silence{4000};

enum class Presence {
    present,
    frozen, ///< silent for too long, but its kernel answers
    gone,
};

class Silence {
  public:
    /// Where processes of the other end listen. Without it, or with another family than an address has, silence alone
    /// decides.
    void ask_at(const NetworkAddress &address, std::vector<std::uint32_t> ports);
    /// Something has come.
    void heard();
    /// What to poll for, before the next call of look().
    void watch(std::vector<pollfd> &watched) const;
    /// To be called every beat_interval or more often.
    Presence look();

  private:
    void ask(Clock::time_point now);
    void take_answer(Clock::time_point now);

    NetworkAddress address_ = {};
    std::vector<std::uint32_t> ports_;
    std::size_t next_port_ = 0; ///< of ports_
    Descriptor question_;       ///< a connection that is being made
    Clock::time_point heard_ = Clock::now(), answered_ = heard_, asked_ = heard_, looked_ = heard_;
};

} // namespace volley::launch
