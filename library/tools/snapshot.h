// SPDX-License-Identifier: BSD-3-Clause
/// A snapshot of a running job: all that its ranks publish (boot/job.h, boot/status_page.h, transport/shm/ring.h),
/// copied and interpreted.
///
/// The arena's file is read with pread, not mapped: holes stay holes, and if the job ends meanwhile, the result is a
/// short read and no signal. Ranks go on while they are read, so the parts of a snapshot may contradict each other, and
/// no code may rely on their consistency.
#pragma once

#include "boot/job.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace volley::view {

enum class Doing {
    not_started, ///< the launcher has not come to it yet
    elsewhere,   ///< on another host, which nobody here can ask
    silent,      ///< on another host, which does not answer
    before_mpi,  ///< its program runs, and has not called MPI_Init
    computing,   ///< outside of MPI
    in_mpi,      ///< inside a function, and has not waited long
    waiting,     ///< inside a function, for others
    stopped,     ///< by a signal or a debugger
    finalised,   ///< after MPI_Finalize
    ended,
};

/// "computing", "waiting"...
const char *text_of(Doing doing);

/// As in CallStatus.
struct WaitView {
    WaitKind kind = WaitKind::unknown;
    int peer = -1;
    int world_peer = -1;
    int tag = 0;
    std::uint32_t context = 0;
    std::int64_t count = 0;
    std::uintptr_t datatype = 0;
    std::uint64_t since_ns = 0;
    std::uint32_t collective = 0;
    int root = -1;
    std::uint32_t requests = 0; ///< any of which would do (WaitKind::one_of); at most most_alternatives are told
    std::vector<WaitView> alternatives; ///< these
};

/// As in CommunicatorEntry.
struct CommunicatorView {
    std::uint32_t context;
    int size, rank, own_group, peer_group;
    std::uint32_t collectives, rounds;
    std::string name;
};

/// As in QueueStatistics.
struct QueueView {
    std::uint32_t length = 0, high_watermark = 0;
    std::uint64_t searches = 0, steps = 0;
};

/// A message that is sent and not received.
struct MessageView {
    int source, destination; ///< ranks in the job
    int tag;
    std::uint32_t context;
    std::int64_t bytes;
    std::optional<double> age_seconds;
    bool on_its_way; ///< the receiver has not taken it out of the ring
    bool at_sender;  ///< only announced: its data is still at the sender
};

struct RankView {
    int rank = 0;
    std::int32_t node = -1; ///< of the job's hosts; -1: all ranks are on this host
    pid_t process = 0;      ///< on its own host
    std::string program;
    Placement placement = Placement::process;
    std::uint32_t space = 0;
    std::uint64_t program_base = 0, interpreter_base = 0;
    Doing doing = Doing::not_started;
    std::uint32_t function = 0;
    WaitView wait; ///< if its since_ns is not 0
    int thread_level = 0;
    QueueView posted;     ///< receives that wait for messages
    QueueView unexpected; ///< messages that wait for receives; not all may be among the job's messages
    std::vector<CommunicatorView> communicators;
    std::uint32_t lost_wake_ups = 0; ///< wait/sleep.h
    std::uint64_t traffic = 0;       ///< changes with each message that comes
    std::uint64_t taken_ns = 0;      ///< CLOCK_MONOTONIC of its host when all this was so

    /// Whether anything is known of it but that it is somewhere else.
    bool is_seen() const {
        return doing != Doing::elsewhere && doing != Doing::silent;
    }
    bool runs() const {
        return doing != Doing::ended && doing != Doing::not_started;
    }
    bool waits() const {
        return doing == Doing::waiting;
    }
};

/// One end of a connection by TCP or libfabric, as in ConnectionEntry.
struct ConnectionView {
    int rank, peer;  ///< in the job
    bool is_senders; ///< messages go to the peer; otherwise they come from there
    std::uint64_t messages, bytes, frames_said, frames_handled, queued;
    std::uint32_t announced, streams;
    // What this end's kernel says; nothing where there is no TCP connection (a relay's, libfabric's data).
    std::optional<std::uint32_t> unacknowledged, unread, retransmissions;
};

/// One of several hosts of a job.
struct HostView {
    std::string name;
    bool is_seen = false;   ///< its ranks are among those of the snapshot
    bool is_silent = false; ///< it was asked, and has not answered
};

struct Snapshot {
    std::string job; ///< name
    pid_t creator = 0;
    std::int32_t node = -1; ///< whose ranks were looked at here; -1: all are on this host
    std::uint32_t cpus = 0; ///< of all hosts that are seen
    bool ending = false;
    std::vector<HostView> hosts; ///< by node; empty: all ranks are on this host
    std::vector<RankView> ranks;
    std::vector<MessageView> messages;
    std::vector<ConnectionView> connections;

    static double waited_seconds(const RankView &rank);
    /// The host of a rank; empty if there is only one.
    std::string host_of(const RankView &rank) const;
    /// The rank's entry for a context of either kind of traffic; nullptr if it is not in it.
    static const CommunicatorView *communicator(const RankView &rank, std::uint32_t context);
    /// "MPI_COMM_WORLD", "rows", or "communicator #12" without a name.
    std::string communicator_name(std::uint32_t context) const;
    /// The ranks that have `context` and are in the group a member of which is this rank's peer (`peers`) or equal; and
    /// those that cannot be seen, if they may be members, too.
    std::vector<int> members(const RankView &rank, std::uint32_t context, bool peers) const;
};

/// Why a job cannot be looked at, in words.
struct Unreadable {
    std::string reason;
};

/// Throws Unreadable: it is not an arena of this version, or the job has ended.
Snapshot look(int arena_file);

} // namespace volley::view
