// SPDX-License-Identifier: BSD-3-Clause
/// Which addresses ranks of different hosts use for each other.
#pragma once

#include "boot/job.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace volley {

/// An address of a host and the network it belongs to.
struct HostAddress {
    std::string interface;
    NetworkAddress address;
    std::uint32_t prefix; ///< bits of it that are the network's
};

/// The addresses of one of a job's hosts.
struct HostAddresses {
    std::string name; ///< for messages to people
    std::string host; ///< as `uname -n`
    std::vector<HostAddress> addresses;
};

/// The name of this host, as `uname -n` says it.
std::string own_host_name();

/// The addresses of this host's interfaces that are up, loopback's last. `interface` restricts them to that interface,
/// or to a network as ADDRESS/PREFIX.
std::vector<HostAddress> own_addresses(const std::string &interface = "");

/// An address and its prefix, as "10.0.0.1/24".
std::string text_of(const HostAddress &address);
/// Reads ADDRESS/PREFIX; nothing if it is none.
std::optional<HostAddress> read_host_address(const std::string &text);

/// One address per host. `interface` names the interface to use, or a network as ADDRESS/PREFIX; empty: a network that
/// all hosts have in common if there is one, otherwise each host's first address. Throws Error.
std::vector<NetworkAddress> choose_addresses(const std::vector<HostAddresses> &hosts, const std::string &interface);

/// The address of this host in a network that it shares with the other's; nothing if there is none.
std::optional<NetworkAddress> own_address_beside(const NetworkAddress &other);

} // namespace volley
