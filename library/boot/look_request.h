// SPDX-License-Identifier: BSD-3-Clause
/// How mpitask and mpimsg ask what the ranks of a job do that are on other hosts. The node daemon of this host, and
/// mpiexec of a job on several hosts, listen at a socket in Linux's abstract namespace, whose number is in the arena
/// (ArenaHead::look_socket). Only processes of the same user, or root's, are heard, and their request begins with the
/// job's secret.
///
/// The answer has a part for each other node, as they come: what the ranks there do (tools/snapshot_parts.h), or
/// nothing if that host has not answered in time. A part without a node is the end.
#pragma once

#include "boot/job.h"

#include <chrono>
#include <cstdint>

namespace volley {

/// How long a host may take to answer, before the others' answers are shown without its own.
inline constexpr std::chrono::milliseconds longest_look{2000};
/// How long a tool waits for all of an answer: others may be asking, too, and each has its turn.
inline constexpr std::chrono::milliseconds longest_looks{5000};
/// What the ranks of one host do takes less than this: 256 ranks that each have 64 messages waiting, 1 MiB.
inline constexpr std::uint32_t longest_look_bytes = 16 << 20;

struct LookRequest {
    unsigned char secret[secret_bytes];
    std::int32_t node; ///< ArenaHead::node of whoever is meant
    std::uint32_t unused;
};

/// So many bytes follow, of that node; node -1: that was all.
struct LookPart {
    std::int32_t node;
    std::uint32_t bytes;
};

} // namespace volley
