// SPDX-License-Identifier: BSD-3-Clause
/// TCP sockets that never block and are closed by exec.
#pragma once

#include "boot/descriptor.h"
#include "boot/job.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace volley {

/// Ports that a user allows, from the first to the last; 0 and 0: whichever the system chooses.
struct PortRange {
    std::uint16_t first = 0, last = 0;

    bool is_any() const {
        return last == 0;
    }
};
/// Reads "50000-50100"; nothing if it is no range.
std::optional<PortRange> parse_port_range(std::string_view text);
/// As parse_port_range() reads it; "" for any.
std::string text_of(const PortRange &range);

/// 127.0.0.1.
NetworkAddress loopback_address();
/// "10.0.0.1", "fe80::1".
std::string text_of(const NetworkAddress &address);
/// The address in such a text; nothing if it is none.
std::optional<NetworkAddress> parse_address(std::string_view text);
/// Listens at an address of this host, at a port of those allowed, which `port` then is. Throws Error.
Descriptor listen_at(const NetworkAddress &address, const PortRange &allowed, std::uint16_t &port);
/// The same at each of several addresses, and at the same port of all: a socket for each.
std::vector<Descriptor> listen_at(const std::vector<NetworkAddress> &addresses, const PortRange &allowed,
                                  std::uint16_t &port);
/// Whether sockets can be bound to that address now. The system first looks whether an IPv6 address is another host's.
bool can_listen_at(const NetworkAddress &address);
/// Accepts a connection; an empty Descriptor if none waits (errno says why).
Descriptor accept_from(const Descriptor &listener);
/// Connects. If the other end is slow, the socket may be used while it goes on connecting; so what is written first
/// leaves as soon as possible. An empty Descriptor, with errno set, if the connection is refused.
Descriptor connect_to(const NetworkAddress &address, std::uint16_t port);

/// This end's address; nothing if the socket is no connection by IP.
std::optional<NetworkAddress> own_address_of(int socket);
/// "10.0.0.1 port 4711": the other end of a connection.
std::string peer_of(int socket);

} // namespace volley
