// SPDX-License-Identifier: BSD-3-Clause
/// TCP sockets of this host's own address, 127.0.0.1, that never block and are closed by exec.
#pragma once

#include "boot/descriptor.h"

#include <cstdint>

namespace volley {

/// Listens at a port that the system chooses. Throws Error.
Descriptor listen_somewhere(std::uint16_t &port);
/// Accepts a connection; an empty Descriptor if none waits (errno says why).
Descriptor accept_from(const Descriptor &listener);
/// Connects. If the other end is slow, the socket may be used while it goes on connecting; so what is written first
/// leaves as soon as possible. An empty Descriptor, with errno set, if the connection is refused.
Descriptor connect_to(std::uint16_t port);

} // namespace volley
