// SPDX-License-Identifier: BSD-3-Clause
/// What the kernel counts of TCP connections, whoever has them; no rank is asked.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace volley::view {

struct SocketCounters {
    std::uint32_t unacknowledged; ///< bytes that were written, and that the other end's kernel has not confirmed
    std::uint32_t unread;         ///< bytes that have come, and that nobody has read
    std::uint32_t retransmissions;
};

/// Of this network's connections, by the inode of the socket. Empty if the kernel does not tell.
std::unordered_map<std::uint64_t, SocketCounters> read_socket_counters();

} // namespace volley::view
