// SPDX-License-Identifier: BSD-3-Clause
/// TCP sockets of this host's own address, 127.0.0.1, that never block and are closed by exec.
#pragma once

#include "boot/descriptor.h"

#include <cstdint>

namespace volley {

/// Takes connections at a port that the system chooses. Throws Error.
Descriptor listen_somewhere(std::uint16_t &port);
/// A connection that has been made; none if there is none now (errno says why).
Descriptor accept_from(const Descriptor &listener);
/// Connects, or goes on connecting while it is used already, where the other end is slow; so what is written first
/// leaves at once. None, with errno, if it is refused.
Descriptor connect_to(std::uint16_t port);

} // namespace volley
