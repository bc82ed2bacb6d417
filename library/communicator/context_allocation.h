// SPDX-License-Identifier: BSD-3-Clause
/// Context-id allocation: one member of a new communicator draws its context and tells the others.
///
/// The members form a binomial tree whose root, member 0, draws. For an intercommunicator both groups have a tree. One
/// of the two roots draws for both groups, also for the hidden local communicators, and tells the other root: there are
/// contexts for all or for none. The messages belong to the parents' collective traffic, and their tag is the number of
/// the collective operation, so that allocations under way (MPI_Comm_idup) and collectives do not receive each other's
/// messages.
#pragma once

#include "core/communicator.h"
#include "core/contexts.h"
#include "core/engine.h"
#include "core/point_to_point.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace volley {

/// What is allocated: plain data, sent as bytes.
struct AllocatedContext {
    SharedContext context = 0;       ///< 0: there was none left
    SharedContext local_context = 0; ///< of an intercommunicator's local communicator
    std::uint64_t area = 0;          ///< offset of the CollectiveArea of the (local) communicator, or 0
};

/// Called in the one process that draws: makes an area for `group`. Returns its offset in the arena, or 0 for none.
std::uint64_t draw_area(const Group &group);

/// Called in the one process that draws for both groups of an intercommunicator: draws the contexts of the
/// intercommunicator and of both local communicators; all are 0 if not enough are left.
struct ContextsOfBoth {
    AllocatedContext local, remote;
};
ContextsOfBoth draw_for_both(const Group &local, const Group &remote);

/// Gives a communicator that was made without a context what was allocated for it. Returns an error code.
int settle(Communicator &made, const AllocatedContext &allocated);

/// What is allocated as words, for bootstrap messages.
inline constexpr std::size_t allocated_words = sizeof(AllocatedContext) / sizeof(std::int32_t);
std::vector<std::int32_t> to_words(const AllocatedContext &allocated);
AllocatedContext to_allocated(std::span<const std::int32_t> words);

/// The tag of the next collective operation on `communicator`. All its ranks must call this equally often.
int next_collective_tag(Communicator &communicator);

/// A binomial tree with root 0 over `size` members.
int tree_parent(int index);
/// The children of a member, those with the largest subtrees first.
std::vector<int> tree_children(int index, int size);

/// The allocation of a communicator's context, as a request: MPI_Comm_idup returns it, and allocate_context() waits for
/// it.
class ContextAllocation final : public Request, private ProgressHook {
  public:
    /// Who takes part: ranks of `carrier`, an intracommunicator. All participants name the same ranks in the same
    /// order.
    struct Participants {
        Communicator &carrier;
        std::vector<int> members;
        int index; ///< of this process in `members`
        int tag;
    };
    /// The way to the other group's root: `peer` of `carrier`, an intercommunicator.
    struct RemoteRoot {
        Communicator &carrier;
        int peer;
        int tag;
        bool draws; ///< this group's root draws the contexts, for both groups
    };

    /// `made` (by Communicator::make_unsettled) may be used when the request is complete. An intercommunicator needs a
    /// remote_root.
    ContextAllocation(Communicator &made, Participants participants, std::optional<RemoteRoot> remote_root);

    const char *name() const override {
        return "MPI_Comm_idup";
    }
    /// An allocation in which all ranks of the carrier take part is published like any collective operation.
    WaitingFor about() const override {
        Communicator &carrier = participants_.carrier;
        if (static_cast<int>(participants_.members.size()) != carrier.size()) return {};
        return {.peer = MPI_ANY_SOURCE,
                .tag = participants_.tag,
                .context = carrier.context(Traffic::collective),
                .kind = WaitKind::collective};
    }

  private:
    ~ContextAllocation() override;
    void progress() override;
    void begin_as_root();
    void take_receipt();
    void send_on();
    void send_to(const Address &to, const AllocatedContext &allocated);
    void receive_from(const Address &from);

    Communicator &made_;
    Participants participants_;
    std::optional<RemoteRoot> remote_root_;
    AllocatedContext allocated_, remote_allocated_;
    AllocatedContext received_;
    Request *receipt_ = nullptr;
    std::vector<Request *> sends_;
};

/// Allocates the context of `made` and waits for it. Returns an error code.
int allocate_context(Communicator &made, ContextAllocation::Participants participants,
                     std::optional<ContextAllocation::RemoteRoot> remote_root = std::nullopt);

/// Collective over `parent`, an intracommunicator: makes the communicator of `members`, ranks of the parent, in that
/// order. `made` is nullptr in processes that are not among them, which may pass any other `members`. Returns an error
/// code.
int make_subset(Communicator &parent, const std::vector<int> &members, Communicator *&made);

} // namespace volley
