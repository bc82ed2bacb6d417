// SPDX-License-Identifier: BSD-3-Clause
/// What a user may set of the library, by environment variables VOLLEY_*.
#pragma once

#include "boot/cpus.h"
#include "boot/job.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace volley {

/// Of the memory ranks share. Virtual: pages exist once touched. Enough for all that a machine's ranks could keep in
/// flight; the least is for some ranks and small messages.
inline constexpr std::uint64_t generous_arena_bytes = std::uint64_t{64} << 30;
inline constexpr std::uint64_t least_arena_bytes = std::uint64_t{16} << 20;

struct Settings {
    /// VOLLEY_CHECK: ranks compare what they are about to do together (collective/compare.h), and say
    /// once where a program computes with characters (core/operation.h).
    bool checking = false;
    /// VOLLEY_EAGER_LIMIT: messages of so many bytes and less are copied into the ring, so that the sender need not
    /// wait for the receiver. Not set: as it is fastest.
    std::optional<std::uint32_t> eager_limit;
    /// VOLLEY_PIPELINE_LIMIT: longer messages up to so many bytes are copied by both ranks, if each has a core: by the
    /// sender into memory they share, and on by the receiver, who follows it. The sender need not wait for the
    /// receiver. Not set: as it is fastest, or none if eager_limit is set.
    std::optional<std::uint32_t> pipeline_limit;
    /// VOLLEY_CPUS: so many processors are there for the ranks; with more ranks they give way to each other at once
    /// instead of waiting busily. Not set: what affinity and quota allow.
    std::optional<std::uint32_t> cpus;
    /// VOLLEY_ARENA_BYTES: the size of the memory ranks share, if limits on memory allow it. What does not fit goes
    /// slower ways, or fails with MPI_ERR_NO_MEM. Not set: generous_arena_bytes.
    std::optional<std::uint64_t> arena_bytes;
    /// VOLLEY_TRANSPORT: what carries messages between ranks; all of a job have the same. Not set, or "auto": as it is
    /// fastest.
    std::optional<Transport> transport;
    /// VOLLEY_NODES, for tests: ranks are taken to be on several hosts, so many on each; the last number goes for all
    /// further ones. Between them messages go by TCP. Empty: one host.
    std::vector<std::uint32_t> nodes;
    /// VOLLEY_COLLECTIVES: which algorithms collective operations take, and whether they say so
    /// (collective/selection.h).
    std::string collectives;
    /// VOLLEY_REFUSE, for tests: which block of that memory is refused, of those that a rank asks for; 0: none.
    std::uint64_t refused_allocation = 0;

    /// On one host memory is always fastest.
    Transport carrier() const {
        return transport.value_or(Transport::shm);
    }

    /// The number of the host that a rank is taken to be on.
    std::int32_t node_of(int rank) const;

    std::uint64_t most_arena_bytes() const {
        return arena_bytes.value_or(generous_arena_bytes);
    }

    /// The limit for a receiver that may read this rank's memory, or may not. Above, one copy straight from buffer to
    /// buffer is faster where both sides share the work of it; a copy by the kernel costs 1.5 us more than two of our
    /// own (bench/messages.cpp, with --ranks process).
    std::uint32_t eager_limit_to(bool readable) const {
        return eager_limit.value_or(lines_migrate ? 4096 : readable ? 8192 : 16384);
    }

    /// The same for messages that are pipelined. Where lines migrate that is quicker than one copy, straight from
    /// buffer to buffer, whose buffers' lines both ranks then have.
    std::uint32_t pipeline_limit_to(bool readable) const {
        std::uint32_t fastest = !lines_migrate || eager_limit ? 0 : readable ? 1 << 18 : 1 << 21;
        return pipeline_limit.value_or(fastest);
    }

    /// One a line, as `mpiexec --settings` prints them: NAME=VALUE, what it is, for ranks that share an address space
    /// or do not.
    std::string text(bool shared) const;

    /// Processors, and the cores they belong to (boot/cpus.h), for a job on this host.
    std::uint32_t usable_cpus() const;
    std::uint32_t allowed_cores() const;
};

/// Reads the environment. Throws Error for a value that means nothing.
Settings read_settings();

} // namespace volley
