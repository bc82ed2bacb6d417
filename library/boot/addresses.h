// SPDX-License-Identifier: BSD-3-Clause
/// Which addresses ranks of different hosts use for each other.
///
/// That hosts have a network in common is a guess, from their addresses: bridges of containers are alike on every host
/// and lead nowhere, and a firewall may close a network. So a host has several addresses where others may find it, and
/// those who connect try them (boot/proof/connection_attempts.h).
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
    /// Of a bridge, a tunnel, what has no cable or the like, which mostly leads to no other host of a job. It is tried
    /// last.
    bool comes_last = false;
};

/// The addresses of one of a job's hosts.
struct HostAddresses {
    std::string name; ///< for messages to people
    std::string host; ///< as `uname -n`
    std::vector<HostAddress> addresses;
};

/// The name of this host, as `uname -n` says it.
std::string own_host_name();

/// The addresses of this host's interfaces that are up: those that come last behind the others, and then loopback's.
/// `interface` restricts them to that interface, or to a network as ADDRESS/PREFIX.
std::vector<HostAddress> own_addresses(const std::string &interface = "");

/// An address and its prefix, as "10.0.0.1/24".
std::string text_of(const HostAddress &address);
/// Reads ADDRESS/PREFIX; nothing if it is none.
std::optional<HostAddress> read_host_address(const std::string &text);

/// One address per host, for daemons that stay. `interface` names the interface to use, or a network as ADDRESS/PREFIX;
/// empty: a network that all hosts have in common if there is one, otherwise each host's first address. Throws Error.
std::vector<NetworkAddress> choose_addresses(const std::vector<HostAddresses> &hosts, const std::string &interface);

/// Where the ranks of each host take connections from those of the others, most_addresses at most: first those in
/// networks that the host has in common with all others, then with some. An address that all hosts have is none; and
/// loopback's are only if all "hosts" are one. `interface` as above. Throws Error if a host has none.
std::vector<std::vector<HostAddress>> addresses_for_ranks(const std::vector<HostAddresses> &hosts,
                                                          const std::string &interface);

/// In which order ranks of a host with the addresses `own` try those of another one: first those of networks that both
/// have. Addresses that are this host's, too, would lead to itself; they come behind all others.
std::vector<NetworkAddress> in_order_of_trial(const std::vector<HostAddress> &own,
                                              const std::vector<HostAddress> &other);

/// The address of this host in a network that it shares with the other's; nothing if there is none.
std::optional<NetworkAddress> own_address_beside(const NetworkAddress &other);

} // namespace volley
