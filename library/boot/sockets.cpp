// SPDX-License-Identifier: BSD-3-Clause
#include "boot/sockets.h"

#include "boot/error.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace volley {
namespace {

struct SocketAddress {
    sockaddr_storage storage = {};
    socklen_t bytes = 0;

    sockaddr *get() {
        return reinterpret_cast<sockaddr *>(&storage);
    }
};

SocketAddress socket_address(const NetworkAddress &address, std::uint16_t port) {
    SocketAddress made;
    if (address.family == AF_INET6) {
        auto &six = *reinterpret_cast<sockaddr_in6 *>(&made.storage);
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(port);
        six.sin6_scope_id = address.scope;
        std::memcpy(&six.sin6_addr, address.bytes, sizeof six.sin6_addr);
        made.bytes = sizeof six;
    } else {
        auto &four = *reinterpret_cast<sockaddr_in *>(&made.storage);
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        std::memcpy(&four.sin_addr, address.bytes, sizeof four.sin_addr);
        made.bytes = sizeof four;
    }
    return made;
}

std::optional<NetworkAddress> address_of(const SocketAddress &from) {
    NetworkAddress address = {};
    address.family = from.storage.ss_family;
    if (address.family == AF_INET) {
        std::memcpy(address.bytes, &reinterpret_cast<const sockaddr_in &>(from.storage).sin_addr, sizeof(in_addr));
    } else if (address.family == AF_INET6) {
        const auto &six = reinterpret_cast<const sockaddr_in6 &>(from.storage);
        address.scope = six.sin6_scope_id;
        std::memcpy(address.bytes, &six.sin6_addr, sizeof(in6_addr));
    } else {
        return std::nullopt;
    }
    return address;
}

std::uint16_t port_of(const SocketAddress &address) {
    return ntohs(address.storage.ss_family == AF_INET6
                     ? reinterpret_cast<const sockaddr_in6 &>(address.storage).sin6_port
                     : reinterpret_cast<const sockaddr_in &>(address.storage).sin_port);
}

/// A host that cannot be reached any more answers nothing: a connection on which nothing is under way fails after 20
/// seconds (10 until the first question, five questions), longer than a switch or a cable is usually away.
constexpr int seconds_to_first_question = 10;
constexpr int seconds_between_questions = 2;
constexpr int most_questions = 5;

/// A firewall drops what should begin a connection. The kernel asks again after 1, 2, 4 and 8 seconds and gives up 16
/// seconds later, after 31; by itself it would go on for two minutes.
constexpr int questions_for_connection = 4;

bool is_loopback(const NetworkAddress &address) {
    return address.family == AF_INET && address.bytes[0] == 127;
}

/// Within a host there is no line to share. A congestion control that spaces out what it sends (bbr) only delays there:
/// half a round trip of 2 MiB took 0.42 to 1.3 ms with it, and 0.25 with Reno, which every kernel has and allows.
void let_go_at_once(const Descriptor &socket) {
    constexpr char name[] = "reno";
    setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name, sizeof name - 1);
}

void set_options(const Descriptor &socket) {
    const auto set = [&](int level, int option, int value) {
        setsockopt(socket.get(), level, option, &value, sizeof value);
    };
    // A frame that is written should leave at once, since the next one may depend on the answer.
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, seconds_to_first_question);
    set(IPPROTO_TCP, TCP_KEEPINTVL, seconds_between_questions);
    set(IPPROTO_TCP, TCP_KEEPCNT, most_questions);
}

/// On one host a connection exists by the time connect() returns, or microseconds later, unless so many others wait to
/// be accepted that the kernel takes no more.
constexpr int longest_greeting_ms = 1000;

std::uint32_t random_number() {
    std::uint32_t number = 0;
    getentropy(&number, sizeof number);
    return number;
}

/// Empty, with errno set, if the port cannot be had; port 0 becomes that which the system chooses.
Descriptor listen_at_port(const NetworkAddress &address, std::uint16_t &port) {
    Descriptor listener(socket(address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!listener) return listener;
    // Connections of a job that has ended keep its ports for a minute otherwise (TIME_WAIT).
    const int yes = 1;
    if (port != 0) setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    SocketAddress place = socket_address(address, port);
    if (bind(listener.get(), place.get(), place.bytes) != 0 || listen(listener.get(), SOMAXCONN) != 0 ||
        getsockname(listener.get(), place.get(), &place.bytes) != 0) {
        const int reason = errno;
        listener.reset();
        errno = reason;
        return listener;
    }
    port = port_of(place);
    return listener;
}

/// A port that is free at one address may be taken at another. The system then chooses another one.
constexpr std::uint32_t most_choices = 64;

/// Empty, with errno set, if the port cannot be had at all of them; `refusing` is the address where not.
std::vector<Descriptor> listen_at_port(const std::vector<NetworkAddress> &addresses, std::uint16_t &port,
                                       NetworkAddress &refusing) {
    std::vector<Descriptor> listeners;
    for (const NetworkAddress &address : addresses) {
        listeners.push_back(listen_at_port(address, port));
        if (listeners.back()) continue;
        refusing = address;
        const int reason = errno;
        listeners.clear();
        errno = reason;
        break;
    }
    return listeners;
}

} // namespace

NetworkAddress loopback_address() {
    return {.family = AF_INET, .unused = 0, .scope = 0, .bytes = {127, 0, 0, 1}};
}

std::string text_of(const NetworkAddress &address) {
    char text[INET6_ADDRSTRLEN] = "?";
    inet_ntop(address.family, address.bytes, text, sizeof text);
    return text;
}

std::optional<NetworkAddress> parse_address(std::string_view text) {
    NetworkAddress address = {};
    address.family = text.find(':') == std::string_view::npos ? AF_INET : AF_INET6;
    if (inet_pton(address.family, std::string(text).c_str(), address.bytes) != 1) return std::nullopt;
    return address;
}

std::optional<NetworkAddress> own_address_of(int socket) {
    SocketAddress own;
    own.bytes = sizeof own.storage;
    if (getsockname(socket, own.get(), &own.bytes) != 0) return std::nullopt;
    return address_of(own);
}

std::string peer_of(int socket) {
    SocketAddress peer;
    peer.bytes = sizeof peer.storage;
    if (getpeername(socket, peer.get(), &peer.bytes) != 0) return "?";
    const auto address = address_of(peer);
    return (address ? text_of(*address) : "?") + " port " + std::to_string(port_of(peer));
}

std::optional<PortRange> parse_port_range(std::string_view text) {
    PortRange range;
    const char *end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, range.first);
    if (first.ec != std::errc() || first.ptr == end || (*first.ptr != '-' && *first.ptr != ':')) return std::nullopt;
    const auto last = std::from_chars(first.ptr + 1, end, range.last);
    if (last.ec != std::errc() || last.ptr != end || range.first == 0 || range.first > range.last) return std::nullopt;
    return range;
}

std::string text_of(const PortRange &range) {
    return range.is_any() ? "" : std::to_string(range.first) + "-" + std::to_string(range.last);
}

Descriptor listen_at(const NetworkAddress &address, const PortRange &allowed, std::uint16_t &port) {
    return std::move(listen_at(std::vector{address}, allowed, port).front());
}

std::vector<Descriptor> listen_at(const std::vector<NetworkAddress> &addresses, const PortRange &allowed,
                                  std::uint16_t &port) {
    // Ranks that begin together begin at different places of the range.
    const std::uint32_t ports = allowed.last - allowed.first + 1U;
    const std::uint32_t begin = allowed.is_any() ? 0 : random_number() % ports;
    const std::uint32_t choices = !allowed.is_any() ? ports : addresses.size() > 1 ? most_choices : 1;
    NetworkAddress refusing{};
    for (std::uint32_t at = 0; at < choices; at++) {
        port = static_cast<std::uint16_t>(allowed.first + (begin + at) % ports);
        std::vector<Descriptor> listeners = listen_at_port(addresses, port, refusing);
        if (!listeners.empty()) return listeners;
        if (errno != EADDRINUSE || (allowed.is_any() && at + 1 == choices))
            throw system_error("cannot take TCP connections at " + text_of(refusing) +
                               (port == 0 ? "" : " port " + std::to_string(port)));
    }
    throw Error(
        "cannot take TCP connections at " + text_of(refusing) + ": all ports from " + std::to_string(allowed.first) +
        " to " + std::to_string(allowed.last) +
        " are in use (allow more by mpiexec --port-range or VOLLEY_PORT_RANGE: each rank takes one, or two with "
        "--transport fabric, and so do a relay and mpiexec)");
}

bool can_listen_at(const NetworkAddress &address) {
    std::uint16_t port = 0;
    return static_cast<bool>(listen_at_port(address, port));
}

Descriptor accept_from(const Descriptor &listener) {
    Descriptor made(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!made) return made;
    set_options(made);
    const auto own = own_address_of(made.get());
    if (own && is_loopback(*own)) let_go_at_once(made);
    return made;
}

Descriptor connect_to(const NetworkAddress &to, std::uint16_t port) {
    Descriptor made(socket(to.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made) return made;
    set_options(made);
    if (is_loopback(to)) let_go_at_once(made);
    setsockopt(made.get(), IPPROTO_TCP, TCP_SYNCNT, &questions_for_connection, sizeof questions_for_connection);
    SocketAddress address = socket_address(to, port);
    if (connect(made.get(), address.get(), address.bytes) == 0) return made;
    if (errno == EINPROGRESS) {
        if (!is_loopback(to)) return made;
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
