// SPDX-License-Identifier: BSD-3-Clause
/// Communicators: who may talk, and in which context.
///
/// A context number keeps messages of different communicators apart (core/contexts.h). Every communicator has four, one
/// for each kind of traffic. One process draws them and tells the others (communicator/context_allocation.h).
#pragma once

#include "boot/context_number.h"
#include "core/group.h"
#include "core/object.h"
#include "transport/chain.h"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace volley {

class Attributes;
class BufferedSends;
class Errhandler;
class Failures;
class Info;
struct CollectiveArea;
struct CommunicatorEntry;
struct ErrorTarget;
struct Hierarchy;
struct MatchQueues;

/// The topology that MPI_Cart_create, MPI_Graph_create or MPI_Dist_graph_create... attaches; `kind` says which.
struct Topology {
    int kind = MPI_UNDEFINED; ///< MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH
    // Cartesian
    std::vector<int> dimensions, periods, coordinates;
    // Graph: as passed by the caller, for all ranks
    std::vector<int> index, edges;
    // Distributed graph: this rank's neighbours
    std::vector<int> sources, source_weights, destinations, destination_weights;
    bool weighted = false;
};

class Communicator final : public Object {
  public:
    static constexpr Mark kind = Mark::communicator;

    /// Retains the groups. `remote` is nullptr in an intracommunicator. `context` is what draw_context() gave.
    static Communicator *make(Group &local, Group *remote, std::uint32_t context);
    /// A communicator whose context is still being allocated (MPI_Comm_idup); nothing may be sent until settle().
    static Communicator *make_unsettled(Group &local, Group *remote);
    void settle(std::uint32_t context);
    static Communicator &world();
    static Communicator &self();

    /// The communicator a handle names; nullptr for MPI_COMM_NULL and for a handle that names none.
    static Communicator *from_handle(MPI_Comm handle) {
        auto number = reinterpret_cast<std::uintptr_t>(handle);
        if (number == reinterpret_cast<std::uintptr_t>(MPI_COMM_WORLD)) [[likely]]
            return predefined_[0];
        if (number == reinterpret_cast<std::uintptr_t>(MPI_COMM_SELF)) return predefined_[1];
        return object_of<Communicator>(handle);
    }
    MPI_Comm handle();
    /// MPI_COMM_WORLD or MPI_COMM_SELF.
    bool is_predefined() const {
        return this == predefined_[0] || this == predefined_[1];
    }

    int rank() const {
        return rank_;
    }
    /// The size of the local group.
    int size() const {
        return size_;
    }
    bool is_inter() const {
        return remote_ != nullptr;
    }
    /// How many members, of both groups, are on this process's node.
    int members_here() const;
    /// The size of the group that messages go to: the remote group in an intercommunicator.
    int peers() const {
        return peers_;
    }
    ProcessIndex peer_process(int peer) const {
        return peer_processes_[peer];
    }
    Group &local() const {
        return *local_;
    }
    Group *remote() const {
        return remote_;
    }
    Group &peer_group() const {
        return remote_ ? *remote_ : *local_;
    }

    std::uint32_t context(Traffic traffic) const {
        return context_ + static_cast<std::uint32_t>(traffic);
    }
    MatchQueues &queues(Traffic traffic) const {
        return *queues_[static_cast<std::size_t>(traffic)];
    }

    bool has_queues(Traffic traffic) const {
        return queues_[static_cast<std::size_t>(traffic)] != nullptr;
    }
    /// Called before the queues of a kind of traffic are used that few communicators have.
    void open_queues(Traffic traffic);

    std::string_view name() const {
        return name_;
    }
    void set_name(std::string_view name); ///< cut to MPI_MAX_OBJECT_NAME - 1 bytes

    /// Drops one reference (a handle's, a request's); the last destroys the communicator.
    static void release(Communicator &communicator);

    // Owned by the layers named; nullptr where unused.
    Errhandler *errhandler = nullptr;           ///< never nullptr after make(); core/errhandler.h
    ErrorTarget *error_target = nullptr;        ///< of the file or window whose hidden communicator this is
    Attributes *attributes = nullptr;           ///< core/attribute.h
    Info *info = nullptr;                       ///< core/info.h: hints
    std::unique_ptr<Topology> topology;         ///< core/topology.cpp
    Communicator *local_communicator = nullptr; ///< of an intercommunicator: a hidden one of its local group
    CollectiveArea *area = nullptr;             ///< collective/area.h
    Hierarchy *hierarchy = nullptr;             ///< collective/hierarchy.h: made on first use
    std::uint64_t rounds = 0;                   ///< that this rank has entered in `area`
    std::uint64_t staged_pieces = 0;            ///< that went through the area's stage (collective/area.h)
    std::uint64_t counted_rounds = 0;           ///< rounds in which arrivals are counted
    std::uint64_t entered_by_all = 0;           ///< the last round that all ranks are known to have entered
    std::uint64_t entered_told = 0;             ///< the last round that the others can know this rank has entered
    BufferedSends *buffered_sends = nullptr;    ///< core/buffered.h: MPI_Comm_attach_buffer
    std::shared_ptr<SessionBuffer> session;     ///< core/session.h: of the session it derives from; nullptr: none
    CommunicatorEntry *published = nullptr;     ///< core/introspection.h
    Communicator *serves = nullptr;             ///< of a level of a hierarchy: the communicator that has it
    bool freed = false;                         ///< the user's handle is gone

    // Where processes may fail (core/failures.h).
    /// Why nothing that needs all members can be done any more: the error class, or MPI_SUCCESS.
    int fault = MPI_SUCCESS;
    std::size_t failures_seen = 0;                            ///< of those this process knows
    int failed_members = 0;                                   ///< among them, of both groups
    int acknowledged = 0;                                     ///< so many of these, the first that became known
    std::uint32_t agreements_begun = 0, agreements_ended = 0; ///< here (communicator/agreement.h)
    bool is_revoked() const {
        return fault == MPIX_ERR_REVOKED;
    }
    void lose(int error_class) {
        fault = error_class;
        if (error_class == MPIX_ERR_REVOKED) peers_ = 0; // no rank is valid: the check of arguments finds out why
    }

    /// The number of the next collective operation, from 0: the tag of its messages.
    std::uint32_t number_collective();
    std::uint32_t collectives_started() const {
        return collectives_started_;
    }

    /// Registers a function that is called with each communicator about to be destroyed. The layers that own the
    /// pointers above use it.
    using Release = void (*)(Communicator &communicator);
    static void on_release(Release release);

  private:
    friend class Failures;
    friend class Pool<Communicator>;
    friend void set_predefined_communicators(Communicator *world, Communicator *self);
    Communicator(Group &local, Group *remote);
    ~Communicator() = default;

    static std::array<Communicator *, 2> predefined_; ///< nullptr before initialisation and after finalisation

    int rank_;
    int size_;
    int peers_;
    std::uint32_t context_ = 0;
    const ProcessIndex *peer_processes_;
    std::uint32_t collectives_started_ = 0;
    std::array<MatchQueues *, traffic_kinds> queues_{}; ///< of partitioned traffic once it is used
    Group *local_;
    Group *remote_;
    std::string name_;
    Links<Communicator> known_; ///< among those that core/failures.h looks after
    bool is_known_ = false;
};

/// Makes MPI_COMM_WORLD, MPI_COMM_SELF, and a hidden communicator of all processes, for processes that have no other
/// in common (communicator/bootstrap_messages.h). Called once the engine is set up.
void make_predefined_communicators();
/// In MPI_Finalize: frees the first two. Sessions may go on, and need the hidden one.
void free_predefined_communicators();
/// Collective over all processes, in MPI_Init: waits for all, then gives MPI_COMM_WORLD its collective area. Without
/// MPI_Init (sessions only) it has no area, as some processes may never come.
void complete_world();
/// The hidden communicator of all processes.
Communicator &bootstrap_communicator();

} // namespace volley
