// SPDX-License-Identifier: BSD-3-Clause
/// A daemon's end of the channel to the program that has started it: what daemons of one job (node_daemon.h) and those
/// that stay (resident_daemon.h) have in common.
#pragma once

#include <functional>
#include <string>

#include "launch/hosts/channel.h"
#include "launch/hosts/messages.h"

namespace volley::launch {

/// Whoever started the daemon is gone, or has said that it is not needed.
struct NotWanted {};

/// Standard input and output as a channel. Nothing else writes into it from now on, or reads from it: input is empty,
/// and output goes where errors go.
Channel take_standard_streams();

/// What this host is.
HelloMessage own_hello();

/// Waits for a frame of that kind, and hands each that comes, that one as well, to `take`. Throws NotWanted.
Frame await(Channel &channel, FrameKind kind, const std::function<void(const Frame &)> &take = [](const Frame &) {});

/// Waits until all has been said, but not for long.
void say_all(Channel &channel);

/// Throws Error, with the remedy, if a host has another Volley than this program, or is another kind of machine than
/// the first host.
void require_equal(const std::string &host, const HelloMessage &hello, const std::string &first_host,
                   const HelloMessage &first);

} // namespace volley::launch
