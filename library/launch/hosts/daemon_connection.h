// SPDX-License-Identifier: BSD-3-Clause
/// Connections to resident daemons (resident_daemon.h), to several at once.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launch/hosts/booted_set.h"
#include "launch/hosts/channel.h"

namespace volley::launch {

/// What is spoken after the handshake.
inline constexpr std::uint64_t resident_protocol = 0x0100'6e6f'6d65'6144; ///< "Daemon", 1

Secret secret_of(const BootedSet &set);

/// A daemon with which the handshake is over, or why there is none.
struct Reached {
    std::optional<Channel> channel;
    std::string problem;  ///< "does not answer", and so on
    bool is_gone = false; ///< it has ended: the host says so
};

/// By node of `nodes`; within that time.
std::vector<Reached> reach(const BootedSet &set, const std::vector<const BootedNode *> &nodes,
                           std::chrono::milliseconds time);

/// Asks all nodes the same thing and waits for the answers. Nothing for a node: `Reached::problem` says why.
struct Answered {
    std::optional<Frame> frame;
    std::string problem;
    bool is_gone = false;
};
std::vector<Answered> ask(const BootedSet &set, FrameKind kind, const std::string &payload,
                          std::chrono::milliseconds time);

} // namespace volley::launch
