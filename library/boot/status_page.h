// SPDX-License-Identifier: BSD-3-Clause
/// What a rank publishes besides its CallStatus, for mpitask and mpimsg: its communicators, and the messages that have
/// arrived and that nobody has received yet.
///
/// Plain data in the arena, written by its rank alone with relaxed stores and read from outside at any time: a
/// reader may find an entry half written, and takes nothing in it for granted.
#pragma once

#include "boot/job.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace volley {

/// A message that waits for its receive.
struct UnexpectedEntry {
    std::atomic<std::uint64_t> arrived_ns; ///< CLOCK_MONOTONIC_COARSE; 0: the entry is free. Written last.
    std::atomic<std::int64_t> bytes;
    std::atomic<std::int32_t> source; ///< rank in the job
    std::atomic<std::int32_t> tag;
    std::atomic<std::uint32_t> context;
    std::atomic<std::uint32_t> at_sender; ///< 1: only announced, its data is still at the sender
};

inline constexpr std::size_t status_name_bytes = 64;

/// A communicator this rank is in. A group is named by its first member's rank in the job: the ranks of a context
/// are those that have an entry with it, and the two sides of an intercommunicator are told apart by their groups.
struct CommunicatorEntry {
    std::atomic<std::int32_t> size; ///< of the own group; 0: the entry is free. Written last.
    std::atomic<std::uint32_t> context;
    std::atomic<std::int32_t> rank;
    std::atomic<std::int32_t> own_group, peer_group; ///< equal in an intracommunicator
    std::atomic<std::uint32_t> collectives;          ///< collective operations begun on it, by messages
    std::atomic<std::uint32_t> rounds;               ///< begun on it, for those without messages
    std::array<char, status_name_bytes> name;        ///< cut; empty: it has none
};

/// Communicators, some at a time.
struct CommunicatorPage {
    std::array<CommunicatorEntry, 16> communicators;
    std::atomic<std::uint64_t> next; ///< offset of another page, or 0
};

/// Entries that wait to be matched, in all communicators, and what it took to find them (core/matching.h).
struct QueueStatistics {
    std::atomic<std::uint32_t> length;
    std::atomic<std::uint32_t> high_watermark; ///< the greatest length so far
    std::atomic<std::uint64_t> searches;       ///< that had to step over an entry; the first was not the one
    std::atomic<std::uint64_t> steps;          ///< in those: entries stepped over, and places of an index looked at
};

/// A connection of this rank by TCP or libfabric (transport/tcp/connection.h): messages go one way, frames both ways.
/// Counters begin with 0 when the connection does.
struct ConnectionEntry {
    enum class Direction : std::uint32_t { none, to_peer, from_peer }; ///< of messages; none: the entry is free

    std::atomic<Direction> direction;           ///< written last
    std::atomic<std::int32_t> peer;             ///< rank in the job; -1: a process of another job
    std::atomic<std::uint64_t> socket;          ///< its inode; 0: it is being connected
    std::atomic<std::uint64_t> messages, bytes; ///< that have been sent, or have arrived
    std::atomic<std::uint64_t> frames_said, frames_handled;
    std::atomic<std::uint64_t> queued;    ///< bytes that the system has not taken yet
    std::atomic<std::uint32_t> announced; ///< messages that wait for their receives
    std::atomic<std::uint32_t> streams;   ///< messages whose data is under way
};

/// Connections, some at a time. Pages stay, and are filled again.
struct ConnectionPage {
    std::array<ConnectionEntry, 14> connections;
    std::atomic<std::uint64_t> next; ///< offset of another page, or 0
};

struct alignas(cache_line) StatusPage {
    std::atomic<std::int32_t> thread_level; ///< as MPI_Query_thread gives it
    QueueStatistics posted;                 ///< receives that wait for messages
    QueueStatistics unexpected;             ///< messages that wait for receives; those beyond 64 are only counted
    alignas(cache_line) std::array<UnexpectedEntry, 64> messages;
    CommunicatorPage communicators;
};

} // namespace volley
