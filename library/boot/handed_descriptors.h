// SPDX-License-Identifier: BSD-3-Clause
/// Messages on Unix sockets by which descriptors are handed to another process (unix(7), SCM_RIGHTS).
#pragma once

#include "boot/descriptor.h"

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <vector>

namespace volley {

/// That go with one message.
inline constexpr std::size_t most_handed = 8;

/// As send(2), with those descriptors, most_handed at most.
ssize_t send_with_descriptors(const Descriptor &socket, const void *data, std::size_t bytes,
                              std::span<const int> descriptors, int flags);

/// As recv(2). `handed` has the descriptors that came with it, which an exec closes: none, if this process may have no
/// more.
ssize_t receive_with_descriptors(const Descriptor &socket, void *data, std::size_t bytes,
                                 std::vector<Descriptor> &handed, int flags);

} // namespace volley
