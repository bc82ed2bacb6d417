// SPDX-License-Identifier: BSD-3-Clause
/// Processes that have failed, in a job that outlives that (ArenaHead::recovery), and communicators that were revoked,
/// in any job.
///
/// The launcher sees each rank end; of several hosts, mpiexec tells all node daemons, which do the same. It marks the
/// rank's record, raises ArenaHead::incidents and wakes all ranks, so no
/// wait needs a time-out. Whoever revokes a communicator does the same. A rank looks at that count only before a wait
/// lets others have its core, and in calls that do not wait (Engine::progress): messages pay nothing. When the count
/// has changed, the rank
///  - takes what the failed process had sent in full,
///  - marks the communicators that have lost a member (Communicator::fault),
/// and from then on ends what cannot be completed any more:
///  - sends to a process that has failed, and receives from it;
///  - of a communicator that has lost a member, all that belongs to collective operations, whoever was to send or
///    receive it: each living member gives such operations up, so that none may wait for another;
///  - of a revoked communicator everything.
/// A receive from any source is not ended, as its message may still come; but waits for it are, until the user has
/// acknowledged the failures (Request::is_interrupted).
#pragma once

#include "core/communicator.h"
#include "transport/message.h"
#include "transport/node.h"

#include <cstdint>
#include <vector>

namespace volley {

/// Thrown out of a wait in which nothing can be completed with an error, such as that of a collective round.
class Interrupted {
  public:
    explicit Interrupted(int code) : code_(code) {}
    int code() const {
        return code_;
    }

  private:
    int code_;
};

class Failures {
  public:
    /// Each communicator calls these when it has its context, and before it goes.
    void enter(Communicator &communicator);
    void leave(Communicator &communicator);

    /// Whether this rank knows of a failure or a revocation.
    bool any() const {
        return any_;
    }
    /// Whether this rank has seen all that has happened so far.
    bool has_seen_all() const {
        return node.arena->incidents.load(std::memory_order_acquire) == seen_;
    }
    /// Learns what has happened, and ends what cannot be completed. True if anything was ended.
    bool attend();
    /// The same, though the launcher may not have raised the count yet: another process has learnt of a failure.
    bool look();
    /// This process has revoked the communicator, and the others can see it: ends what is under way here.
    void revoke(Communicator &communicator);

    /// Whether a message from that peer, or from any, may be missing for good. Failures that were acknowledged do not
    /// count for any source.
    bool may_lack_sender(const Communicator &communicator, int peer) const;
    /// Members of both groups that have failed, in the order in which this process has learnt of it.
    std::vector<ProcessIndex> failed_members(const Communicator &communicator) const;

    /// Error codes: that the process has failed; that the communicator has lost a member, or was revoked; that a
    /// message from that peer may never come.
    [[gnu::cold]] int code_of(ProcessIndex process) const;
    [[gnu::cold]] int code_of(const Communicator &communicator) const;
    [[gnu::cold]] int code_of(const Communicator &communicator, int peer) const;
    /// The communicator with that context that was lost; nullptr if there is none.
    const Communicator *lost_with(std::uint32_t context) const;

  private:
    void learn();
    bool end_all();
    void judge(Communicator &communicator);
    void mark(Communicator &communicator, int error_class);
    void lose(Communicator &communicator, int error_class);
    bool is_over(const Communicator &communicator, Traffic traffic, const Receive &receive) const;
    bool is_over(const Send &send) const;
    bool end_receives(Communicator &communicator);

    bool any_ = false;
    bool attends_ = false;
    std::uint32_t seen_ = 0; ///< of ArenaHead::incidents
    std::vector<ProcessIndex> failed_;
    Chain<Communicator, &Communicator::known_> communicators_;
    std::vector<Communicator *> lost_; ///< those of them that have a fault
};

extern Failures failures;

/// MPI_Abort: ends the members of both groups, if the job outlives that and has further ranks; otherwise the job.
[[noreturn]] void abort_members(const Communicator &communicator, int code);

/// Whether an error of that class comes of a process that has failed, or of a revocation.
constexpr bool is_of_failure(int error_class) {
    return error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_REVOKED ||
           error_class == MPI_ERR_PROC_ABORTED;
}

/// The error class for operations with a process that has failed in that way.
constexpr int error_class_of(Failure failure) {
    return failure == Failure::aborted ? MPI_ERR_PROC_ABORTED : MPIX_ERR_PROC_FAILED;
}

} // namespace volley
