// SPDX-License-Identifier: BSD-3-Clause
/// The settings of the library that a user may change, by environment variables VOLLEY_*.
#pragma once

#include "boot/cpus.h"
#include "boot/job.h"
#include "boot/named_ranks.h"
#include "boot/sockets.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace volley {

/// The size of the memory that ranks share. It is virtual: pages exist once touched. The generous size is enough for
/// all that a machine's ranks could keep in flight; the least is for some ranks and small messages.
inline constexpr std::uint64_t generous_arena_bytes = std::uint64_t{64} << 30;
inline constexpr std::uint64_t least_arena_bytes = std::uint64_t{16} << 20;

/// The transports that a user may name; another choice is "auto".
struct TransportName {
    Transport transport;
    const char *name;
};
inline constexpr TransportName transport_names[] = {
    {Transport::shm, "shm"}, {Transport::tcp, "tcp"}, {Transport::daemon, "daemon"}, {Transport::fabric, "fabric"}};
std::optional<Transport> transport_of(std::string_view name);
/// "auto, shm, ... or fabric".
std::string transport_choice();

struct Settings {
    /// VOLLEY_CHECK: ranks compare what they are about to do together (collective/compare.h), and report once where a
    /// program computes with characters (core/operation.h).
    bool checking = false;
    /// VOLLEY_EAGER_LIMIT: messages up to so many bytes are copied into the ring, so that the sender need not wait for
    /// the receiver. Not set: the fastest limit.
    std::optional<std::uint32_t> eager_limit;
    /// VOLLEY_PIPELINE_LIMIT: longer messages up to so many bytes are copied by both ranks, if each has a core. The
    /// sender copies into memory they share, and the receiver follows and copies on. The sender need not wait for the
    /// receiver. Not set: the fastest limit, or none if eager_limit is set.
    std::optional<std::uint32_t> pipeline_limit;
    /// VOLLEY_CPUS: the number of processors for the ranks. With more ranks than processors, waiting ranks yield at
    /// once instead of spinning. Not set: what affinity and quota allow.
    std::optional<std::uint32_t> cpus;
    /// VOLLEY_ARENA_BYTES: the size of the memory that ranks share, if limits on memory allow it. What does not fit
    /// takes slower paths, or fails with MPI_ERR_NO_MEM. Not set: generous_arena_bytes.
    std::optional<std::uint64_t> arena_bytes;
    /// VOLLEY_PROCESS_SETS: process sets of sessions, besides those of MPI. Not set: none.
    std::vector<NamedRanks> process_sets;
    /// VOLLEY_TRANSPORT: what carries messages between ranks, the same for all of a job. Not set, or "auto": the
    /// fastest transport.
    std::optional<Transport> transport;
    /// VOLLEY_INTERFACE: the network between hosts, where another launcher than mpiexec has started the ranks: an
    /// interface's name, or ADDRESS/PREFIX. Empty: one that all hosts have in common.
    std::string interface;
    /// VOLLEY_PORT_RANGE: the ports at which ranks, relays and daemons take TCP connections. Not set: any.
    PortRange port_range;
    /// VOLLEY_PROGRESS_THREAD: a thread of each rank makes progress while the program computes
    /// (init/progress_thread.h).
    bool progress_thread = false;
    /// VOLLEY_NODES, for tests: ranks are assigned to several nodes, so many to each; the last number holds for all
    /// further nodes. Messages between nodes go by TCP. Empty: one node.
    std::vector<std::uint32_t> nodes;
    /// VOLLEY_COLLECTIVES: which algorithms collective operations use, and whether they report it
    /// (collective/selection.h); as read_collectives() gives it.
    std::string collectives;
    /// VOLLEY_REFUSE, for tests: which of a rank's allocations of shared memory is refused; 0: none.
    std::uint64_t refused_allocation = 0;

    /// The transport within a node. On one host shared memory is always fastest.
    Transport carrier() const {
        return transport.value_or(Transport::shm);
    }

    /// The number of the node that a rank is assigned to.
    std::int32_t node_of(int rank) const;

    std::uint64_t most_arena_bytes() const {
        return arena_bytes.value_or(generous_arena_bytes);
    }

    /// The eager limit for a receiver that may, or may not, read this rank's memory. Above it, one copy straight from
    /// buffer to buffer is faster if both sides share its work; a copy by the kernel costs 1.5 us more than two of our
    /// own (bench/messages.cpp, with --ranks process).
    std::uint32_t eager_limit_to(bool readable) const {
        return eager_limit.value_or(lines_migrate ? 4096 : readable ? 8192 : 16384);
    }

    /// The pipeline limit for such a receiver. One copy straight from buffer to buffer is quicker than two (us, Zen 4,
    /// straight and pipelined: MPI_Sendrecv of 16 KiB 0.93 and 1.50, 64 KiB 2.3 and 4.4, 256 KiB 7.9 and 16.4; half a
    /// ping-pong 0.55 and 0.65, 1.58 and 1.47, 5.8 and 5.5), but for a receiver that only the kernel reaches.
    std::uint32_t pipeline_limit_to(bool readable) const {
        if (pipeline_limit) return *pipeline_limit;
        return readable || !lines_migrate || eager_limit ? 0 : 1 << 21;
    }

    /// The settings as `mpiexec --settings` prints them, one a line: NAME=VALUE, and a description, for ranks that
    /// share an address space or do not.
    std::string text(bool shared) const;

    /// Processors, and the cores they belong to (boot/cpus.h), for a job on this host.
    std::uint32_t usable_cpus() const;
    std::uint32_t allowed_cores() const;
};

/// Reads the environment. Throws Error for a value that means nothing.
Settings read_settings();

/// What VOLLEY_COLLECTIVES or mpiexec --collectives says, with the lines of a file in place of each @FILE (what follows
/// # is a comment). Throws Error if one cannot be read.
std::string read_collectives(std::string_view text);

/// Numbers as VOLLEY_NODES has them.
std::string numbers_text(const std::vector<std::uint32_t> &numbers);
/// What is said of a setting to people; "" for a name that none has.
const char *setting_description(std::string_view name);

} // namespace volley
