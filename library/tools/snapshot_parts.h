// SPDX-License-Identifier: BSD-3-Clause
/// Snapshots of a job on several hosts: each host sees its own ranks, and sends them as text; together they are one.
#pragma once

#include "tools/snapshot.h"

#include <string>

namespace volley::view {

/// What this host sees: its ranks and the messages to them. Too many messages are left out.
std::string encode_part(const Snapshot &snapshot);

/// Adds what another host has sent. Throws Error if it makes no sense.
void add_part(Snapshot &whole, const std::string &part);

/// Adds that a host has not answered.
void add_silence(Snapshot &whole, std::int32_t node);

} // namespace volley::view
