// SPDX-License-Identifier: BSD-3-Clause
/// Sockets by which processes of one user talk to each other on one host, in Linux's abstract namespace: nothing of
/// them is in a file system. Their names are numbers that the kernel draws.
#pragma once

#include "boot/descriptor.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace volley {

/// Listens, without blocking, at a name that the system chooses: its number, which is not 0. Throws Error, which says
/// that the socket for `purpose` cannot be made.
Descriptor listen_on_host(const char *purpose, std::uint32_t &number);
/// Connects to the process that listens there, called `whom` in an Error. Throws it also if that is another user's.
Descriptor connect_on_host(std::uint32_t number, const char *whom);
/// The same for a socket that never blocks; an empty Descriptor if that process cannot be reached now.
Descriptor try_to_connect_on_host(std::uint32_t number);
/// The same for a socket that never blocks, to a process of that user.
Descriptor connect_on_host_of(std::uint32_t number, uid_t user);
/// Other users of the host can connect to a name that they guess, or take it when the process has gone.
bool is_of_same_user(const Descriptor &socket);
/// The user of the process at the other end; nothing if the system does not say.
std::optional<uid_t> user_of(const Descriptor &socket);

/// Both return false if the other end is gone. They block if the socket does.
bool write_all(const Descriptor &socket, const void *bytes, std::size_t count);
bool read_all(const Descriptor &socket, void *bytes, std::size_t count);

} // namespace volley
