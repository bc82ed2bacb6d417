// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/host_socket.h"

#include "boot/abstract_name.h"
#include "boot/error.h"

#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace volley {
namespace {

bool connect_to_name(const Descriptor &socket, std::uint32_t number) {
    const AbstractName name(number);
    return connect(socket.get(), name.get(), name.bytes) == 0;
}

} // namespace

bool write_all(const Descriptor &socket, const void *bytes, std::size_t count) {
    return send(socket.get(), bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
}

bool read_all(const Descriptor &socket, void *bytes, std::size_t count) {
    return count == 0 || recv(socket.get(), bytes, count, MSG_WAITALL) == static_cast<ssize_t>(count);
}

std::optional<uid_t> user_of(const Descriptor &socket) {
    ucred peer = {};
    socklen_t bytes = sizeof peer;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return std::nullopt;
    return peer.uid;
}

bool is_of_same_user(const Descriptor &socket) {
    return user_of(socket) == geteuid();
}

Descriptor listen_on_host(const char *purpose, std::uint32_t &number) {
    Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    number = bind_to_any_name(listener);
    if (number == 0 || listen(listener.get(), SOMAXCONN) != 0)
        throw system_error(std::string("cannot make the socket ") + purpose);
    return listener;
}

Descriptor connect_on_host_of(std::uint32_t number, uid_t user) {
    Descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made || !connect_to_name(made, number) || user_of(made) != user) return {};
    return made;
}

Descriptor try_to_connect_on_host(std::uint32_t number) {
    return connect_on_host_of(number, geteuid());
}

Descriptor connect_on_host(std::uint32_t number, const char *whom) {
    Descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!made || !connect_to_name(made, number)) throw system_error(std::string("cannot reach ") + whom);
    if (!is_of_same_user(made))
        throw Error(std::string("cannot reach ") + whom + ": another user has its socket's name");
    return made;
}

} // namespace volley
