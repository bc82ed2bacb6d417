// SPDX-License-Identifier: BSD-3-Clause
/// How the members of a new communicator learn its context: one of them draws it and tells the others.
///
/// The members form a binomial tree whose root, member 0, draws. For an intercommunicator both groups have a tree, and
/// one of the two roots draws for both, for the hidden local communicators as well, and tells the other root: there are
/// contexts for all or for none. Everything goes as messages of the parents' collective traffic,
/// with the number of the collective operation as the tag, so that agreements under way (MPI_Comm_idup) and
/// collectives do not meet each other's messages.
#pragma once

#include "core/communicator.h"
#include "core/engine.h"
#include "core/point_to_point.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace volley {

/// What is agreed on: plain data, sent as bytes.
struct AllocatedContext {
    std::uint32_t context = 0;       ///< 0: there was none left
    std::uint32_t local_context = 0; ///< of an intercommunicator's local communicator
    std::uint64_t area = 0;          ///< offset of the CollectiveArea of the (local) communicator, or 0
};

/// In the one process that draws: an area for `group`. Its offset in the arena, or 0: it has none.
std::uint64_t draw_area(const Group &group);

/// In the one process that draws for both groups of an intercommunicator, of so many processes or 0 (not known yet):
/// the contexts of it and of both local communicators. All are 0 if there are not as many.
struct TermsOfBoth {
    AllocatedContext local, remote;
};
TermsOfBoth draw_for_both(int local_size, int remote_size);

/// Gives a communicator made without context what was agreed on. An error code.
int settle(Communicator &made, const AllocatedContext &allocated);

/// The tag of the next collective operation on `communicator`: its ranks must ask equally often.
int next_collective_tag(Communicator &communicator);

/// A binomial tree with root 0 over `size` members.
int tree_parent(int index);
/// Those with the largest subtrees first.
std::vector<int> tree_children(int index, int size);

/// A communicator without context, until it is agreed on: the request of MPI_Comm_idup, and inside the library
/// what allocate_context() waits for.
class ContextAllocation final : public Request, private ProgressHook {
  public:
    /// Who takes part: ranks of `carrier`, an intracommunicator. All name the same ones in the same order.
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

    /// `made` (by Communicator::make_unsettled) may be used when the request is complete. A remote_root is needed where
    /// `made` is an intercommunicator.
    ContextAllocation(Communicator &made, Participants participants, std::optional<RemoteRoot> remote_root);

    const char *name() const override {
        return "MPI_Comm_idup";
    }
    /// Where all of a communicator take part, it is a collective operation like others.
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
    AllocatedContext allocated_, remote_terms_;
    AllocatedContext received_;
    Request *receipt_ = nullptr;
    std::vector<Request *> sends_;
};

/// Waits for the agreement. An error code.
int allocate_context(Communicator &made, ContextAllocation::Participants participants,
                     std::optional<ContextAllocation::RemoteRoot> remote_root = std::nullopt);

/// Collective over `parent`, an intracommunicator: the communicator of `members`, ranks of the parent, in that
/// order; nullptr in processes that are not among them (`members` may be anything else there). An error code.
int make_subset(Communicator &parent, const std::vector<int> &members, Communicator *&made);

} // namespace volley
