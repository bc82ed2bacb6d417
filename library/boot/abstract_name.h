// SPDX-License-Identifier: BSD-3-Clause
/// Names that Linux draws for Unix sockets bound without one: a zero byte and five hexadecimal digits (unix(7),
/// "Autobind feature"). Here such a name is a number, 1 more than its digits say, so that 0 can mean none.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>

#include "boot/descriptor.h"

namespace volley {

struct AbstractName {
    sockaddr_un address = {};
    socklen_t bytes = 0;

    explicit AbstractName(std::uint32_t number);
    const sockaddr *get() const {
        return reinterpret_cast<const sockaddr *>(&address);
    }
};

/// Binds a socket to a name that the system draws, and returns its number; 0, with errno set, if that cannot be done,
/// or if there is no socket. Throws Error if the name is of another kind.
std::uint32_t bind_to_any_name(const Descriptor &socket);

} // namespace volley
