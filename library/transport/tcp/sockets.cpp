// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/sockets.h"

#include "boot/error.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace volley {
namespace {

sockaddr_in own_address(std::uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/// A frame that is written should leave at once, since the next one may depend on the answer.
void do_not_delay(const Descriptor &socket) {
    int yes = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/// On one host a connection exists by the time connect() returns, or microseconds later, unless so many others wait to
/// be accepted that the kernel takes no more.
constexpr int longest_greeting_ms = 1000;

} // namespace

Descriptor listen_somewhere(std::uint16_t &port) {
    Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in address = own_address(0);
    socklen_t bytes = sizeof address;
    if (!listener || bind(listener.get(), reinterpret_cast<sockaddr *>(&address), bytes) != 0 ||
        listen(listener.get(), SOMAXCONN) != 0 ||
        getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address), &bytes) != 0)
        throw system_error("cannot take TCP connections at 127.0.0.1");
    port = ntohs(address.sin_port);
    return listener;
}

Descriptor accept_from(const Descriptor &listener) {
    Descriptor made(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (made) do_not_delay(made);
    return made;
}

Descriptor connect_to(std::uint16_t port) {
    Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made) return made;
    do_not_delay(made);
    sockaddr_in address = own_address(port);
    if (connect(made.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) == 0) return made;
    if (errno == EINPROGRESS) {
        pollfd watched{.fd = made.get(), .events = POLLOUT, .revents = 0};
        poll(&watched, 1, longest_greeting_ms);
        return made;
    }
    const int reason = errno;
    made.reset();
    errno = reason;
    return made;
}

} // namespace volley
