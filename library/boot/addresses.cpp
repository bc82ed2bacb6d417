// SPDX-License-Identifier: BSD-3-Clause
#include "boot/addresses.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/utsname.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "boot/error.h"
#include "boot/sockets.h"

namespace volley {
namespace {

/// The address as bytes, and how many they are.
std::size_t bytes_of(const NetworkAddress &address) {
    return address.family == AF_INET6 ? sizeof(in6_addr) : sizeof(in_addr);
}

bool is_loopback(const NetworkAddress &address) {
    constexpr unsigned char six[sizeof(in6_addr)] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    return address.family == AF_INET ? address.bytes[0] == 127 : std::memcmp(address.bytes, six, sizeof six) == 0;
}

/// Addresses that are valid on one link only (fe80::/10, 169.254/16) need to know which.
bool is_link_local(const NetworkAddress &address) {
    if (address.family == AF_INET) return address.bytes[0] == 169 && address.bytes[1] == 254;
    return address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
}

const unsigned char *raw(const sockaddr *from) {
    return from->sa_family == AF_INET6
               ? reinterpret_cast<const sockaddr_in6 *>(from)->sin6_addr.s6_addr
               : reinterpret_cast<const unsigned char *>(&reinterpret_cast<const sockaddr_in *>(from)->sin_addr);
}

/// What programs for containers and virtual machines make, tunnels, and what has no cable.
bool comes_last(const ifaddrs &entry) {
    constexpr std::string_view beginnings[] = {"docker", "br-", "virbr", "veth", "vnet", "podman",
                                               "cni",    "lxc", "lxdbr", "tun",  "tap",  "wg"};
    const std::string_view name = entry.ifa_name;
    if ((entry.ifa_flags & IFF_POINTOPOINT) != 0 || (entry.ifa_flags & IFF_RUNNING) == 0) return true;
    if (std::ranges::any_of(beginnings, [&](std::string_view beginning) { return name.starts_with(beginning); }))
        return true;
    std::error_code unknown;
    return std::filesystem::exists("/sys/class/net/" + std::string(name) + "/bridge", unknown);
}

HostAddress read_address(const ifaddrs &entry) {
    HostAddress found{.interface = entry.ifa_name, .address = {}, .prefix = 0, .comes_last = comes_last(entry)};
    found.address.family = entry.ifa_addr->sa_family;
    std::memcpy(found.address.bytes, raw(entry.ifa_addr), bytes_of(found.address));
    const unsigned char *mask = entry.ifa_netmask != nullptr ? raw(entry.ifa_netmask) : nullptr;
    for (std::size_t byte = 0; mask != nullptr && byte < bytes_of(found.address); byte++)
        found.prefix += static_cast<std::uint32_t>(std::popcount(mask[byte]));
    return found;
}

/// The network, as text that is equal for equal networks.
std::string network_of(const HostAddress &address) {
    std::string network(1, static_cast<char>(address.address.family));
    for (std::uint32_t bit = 0; bit < address.prefix; bit += 8) {
        const unsigned int kept = std::min(8U, address.prefix - bit);
        network += static_cast<char>(address.address.bytes[bit / 8] & (0xffU << (8 - kept)));
    }
    return network + "/" + std::to_string(address.prefix);
}

using Choice = std::vector<NetworkAddress>;

/// The address of each host in that network; nothing if a host has none, or two hosts have the same (bridges of
/// containers are alike on every host, and lead nowhere).
std::optional<Choice> addresses_in(const std::string &network, const std::vector<HostAddresses> &hosts) {
    Choice choice;
    std::set<std::string> seen;
    for (const HostAddresses &host : hosts) {
        const auto found = std::ranges::find(host.addresses, network, network_of);
        if (found == host.addresses.end()) return std::nullopt;
        if (!seen.emplace(reinterpret_cast<const char *>(found->address.bytes), bytes_of(found->address)).second)
            return std::nullopt;
        choice.push_back(found->address);
    }
    return choice;
}

/// The first address of each host that may be used: of the interface, if one is named.
Choice first_addresses(const std::vector<HostAddresses> &hosts, const std::string &interface) {
    const bool one_machine = std::ranges::all_of(hosts, [&](auto &host) { return host.host == hosts[0].host; });
    Choice choice;
    for (const HostAddresses &host : hosts) {
        const auto found = std::ranges::find_if(host.addresses, [&](const HostAddress &address) {
            if (is_link_local(address.address)) return false;
            if (!interface.empty()) return address.interface == interface;
            return one_machine || !is_loopback(address.address);
        });
        if (found == host.addresses.end())
            throw Error("host " + host.name + " has no address " +
                        (interface.empty() ? "but its own loopback's, which others cannot reach"
                                           : "of interface " + interface + " (option --interface)"));
        choice.push_back(found->address);
    }
    return choice;
}

/// Which networks and addresses the machines have that a job's hosts are.
class Machines {
  public:
    explicit Machines(const std::vector<HostAddresses> &hosts) {
        for (const HostAddresses &host : hosts) {
            names_.insert(host.host);
            for (const HostAddress &address : host.addresses) {
                by_network_[network_of(address)].insert(host.host);
                by_address_[text_of(address.address)].insert(host.host);
            }
        }
    }
    [[nodiscard]] bool are_one() const {
        return names_.size() == 1;
    }
    [[nodiscard]] bool all_have(const NetworkAddress &address) const {
        return by_address_.at(text_of(address)).size() == names_.size();
    }
    /// 0: all machines have that network, 1: some, 2: one.
    [[nodiscard]] int rarity(const HostAddress &address) const {
        const std::size_t have_it = by_network_.at(network_of(address)).size();
        return have_it == names_.size() ? 0 : have_it > 1 ? 1 : 2;
    }

  private:
    std::set<std::string> names_;
    std::map<std::string, std::set<std::string>> by_network_, by_address_;
};

/// Why that host has no address.
std::string without_address(const HostAddresses &host, const std::string &interface) {
    if (read_host_address(interface))
        return "not every host has an address of its own in the network " + interface + " (option --interface)";
    if (!interface.empty())
        return "host " + host.name + " has no address of interface " + interface + " (option --interface)";
    return "host " + host.name + " has no address but its own loopback's" +
           (host.addresses.empty() ? "" : ", and such as all hosts have") + ", which others cannot reach";
}

} // namespace

std::string own_host_name() {
    utsname names = {};
    uname(&names);
    return names.nodename;
}

std::vector<HostAddress> own_addresses(const std::string &interface) {
    ifaddrs *list = nullptr;
    if (getifaddrs(&list) != 0) throw system_error("cannot ask for the addresses of this host");
    std::vector<HostAddress> found;
    for (const ifaddrs *entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
        if (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6) continue;
        HostAddress address = read_address(*entry);
        const bool may_be_doubtful = address.address.family == AF_INET6 && !is_link_local(address.address);
        if (!may_be_doubtful || can_listen_at(address.address)) found.push_back(std::move(address));
    }
    freeifaddrs(list);
    const auto network = read_host_address(interface);
    if (!interface.empty())
        std::erase_if(found, [&](const HostAddress &address) {
            return network ? network_of(address) != network_of(*network) : address.interface != interface;
        });
    std::ranges::stable_sort(found, {}, [](const HostAddress &one) {
        return std::tuple(is_loopback(one.address), one.comes_last, one.address.family == AF_INET6);
    });
    return found;
}

std::optional<NetworkAddress> own_address_beside(const NetworkAddress &other) {
    for (const HostAddress &own : own_addresses()) {
        const HostAddress same_prefix = {.interface = "", .address = other, .prefix = own.prefix};
        if (own.address.family == other.family && !is_loopback(own.address) &&
            network_of(own) == network_of(same_prefix))
            return own.address;
    }
    return std::nullopt;
}

std::string text_of(const HostAddress &address) {
    return text_of(address.address) + "/" + std::to_string(address.prefix);
}

std::optional<HostAddress> read_host_address(const std::string &text) {
    const auto slash = text.find('/');
    if (slash == std::string::npos) return std::nullopt;
    const auto address = parse_address(text.substr(0, slash));
    if (!address) return std::nullopt;
    HostAddress read{.interface = "", .address = *address, .prefix = 0};
    const auto [end, error] = std::from_chars(text.data() + slash + 1, text.data() + text.size(), read.prefix);
    if (error != std::errc() || end != text.data() + text.size() || read.prefix > 8 * bytes_of(read.address))
        return std::nullopt;
    return read;
}

std::vector<NetworkAddress> choose_addresses(const std::vector<HostAddresses> &hosts, const std::string &interface) {
    if (const auto network = read_host_address(interface)) {
        if (auto choice = addresses_in(network_of(*network), hosts)) return *choice;
        throw Error("not every host has an address of its own in the network " + interface + " (option --interface)");
    }
    for (const HostAddress &address : hosts[0].addresses) {
        if (is_loopback(address.address) || is_link_local(address.address)) continue;
        if (!interface.empty() && address.interface != interface) continue;
        if (auto choice = addresses_in(network_of(address), hosts)) return *choice;
    }
    return first_addresses(hosts, interface);
}

std::vector<std::vector<HostAddress>> addresses_for_ranks(const std::vector<HostAddresses> &hosts,
                                                          const std::string &interface) {
    const Machines machines(hosts);
    const auto network = read_host_address(interface);
    const auto is_of_no_use = [&](const HostAddress &address) {
        if (is_link_local(address.address)) return true;
        if (network && network_of(address) != network_of(*network)) return true;
        if (!network && !interface.empty() && address.interface != interface) return true;
        return !machines.are_one() && (is_loopback(address.address) || machines.all_have(address.address));
    };
    std::vector<std::vector<HostAddress>> all;
    for (const HostAddresses &host : hosts) {
        std::vector<HostAddress> own = host.addresses;
        std::erase_if(own, is_of_no_use);
        if (own.empty()) throw Error(without_address(host, interface));
        std::ranges::stable_sort(own, {}, [&](const HostAddress &one) {
            return std::tuple(is_loopback(one.address), one.comes_last, machines.rarity(one));
        });
        if (own.size() > most_addresses) own.resize(most_addresses);
        all.push_back(std::move(own));
    }
    return all;
}

std::vector<NetworkAddress> in_order_of_trial(const std::vector<HostAddress> &own,
                                              const std::vector<HostAddress> &other) {
    const auto is_own = [&](const HostAddress &one) {
        return std::ranges::any_of(own, [&](auto &mine) { return text_of(mine.address) == text_of(one.address); });
    };
    const auto is_in_common = [&](const HostAddress &one) {
        return std::ranges::any_of(own, [&](auto &mine) { return network_of(mine) == network_of(one); });
    };
    std::vector<HostAddress> sorted = other;
    std::ranges::stable_sort(sorted, {}, [&](const HostAddress &one) {
        return std::tuple(is_own(one), one.comes_last, !is_in_common(one));
    });
    std::vector<NetworkAddress> addresses;
    for (const HostAddress &one : sorted) addresses.push_back(one.address);
    return addresses;
}

} // namespace volley
