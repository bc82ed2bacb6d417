// SPDX-License-Identifier: BSD-3-Clause
/// What the first rank of a host tells all others through their launcher (boot/foreign/join.h).
#pragma once

#include "boot/addresses.h"

#include <cstdint>
#include <string>

namespace volley {

struct HostCard {
    std::string version;          ///< of Volley
    std::uint64_t build = 0;      ///< of its library (boot/build_id.h); 0: not known
    std::uint64_t identity = 0;   ///< host_identity()
    std::uint32_t socket = 0;     ///< where it waits for the other ranks of its host (boot/foreign/host_sharing.h)
    std::string public_key;       ///< bytes: by which the job's secret is sealed; empty: all ranks are on one host
    HostAddresses addresses = {}; ///< where its ranks could take connections

    /// Without spaces.
    [[nodiscard]] std::string encode() const;
    /// Throws Error if the text is no such card.
    static HostCard decode(const std::string &text);
};

/// A number that two processes have in common if they can share memory: they see the same kernel, processes and
/// network. Processes of one machine that are in different containers have different ones.
std::uint64_t host_identity();

/// This process's card; of its addresses, those of that interface or network (as choose_addresses() takes it). Throws
/// Error if there are none.
HostCard own_card(std::uint32_t socket, const std::string &public_key, const std::string &interface);

/// Throws Error, which names both, if the two have different versions or builds of this library.
void check_same_library(const HostCard &one, const HostCard &other);

} // namespace volley
