// SPDX-License-Identifier: BSD-3-Clause
/// Which addresses ranks of different hosts use for each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/hosts/messages.h"

namespace volley::launch {

/// The addresses of this host's interfaces that are up, loopback's last.
std::vector<HostAddress> own_addresses();

/// One address per host. `interface` names the interface to use, or a network as ADDRESS/PREFIX; empty: a network that
/// all hosts have in common if there is one, otherwise each host's first address. Throws Error.
std::vector<NetworkAddress> choose_addresses(const std::vector<HelloMessage> &hosts,
                                             const std::vector<std::string> &names, const std::string &interface);

/// The address of this host in a network that it shares with the other's; nothing if there is none.
std::optional<NetworkAddress> own_address_beside(const NetworkAddress &other);

} // namespace volley::launch
