// SPDX-License-Identifier: BSD-3-Clause
/// Agreement of the living members of a communicator, whoever fails meanwhile (MPIX_Comm_agree, MPIX_Comm_shrink).
///
/// The agreements of a communicator have numbers. A member *contributes* to one: it writes what it brings into its slot
/// of the RecoveryState, and the agreement's number last; then it wakes the others. A member may *propose* a decision
/// once every member has contributed or is marked as failed. The proposal is made of what the proposer sees, and is
/// published by one compare-and-swap: the first one is the decision, and all others are thrown away.
///
///  - All get the same: a compare-and-swap lets only one proposal of a number through.
///  - It ends: a member waits for others only until they have contributed or the launcher has marked them, which
///    happens to every process that ends; whoever contributes, and the launcher, wakes those who wait. No member waits
///    for a certain other one to propose.
///  - A decision stays as long as it is read: its memory is given back by the member whose decision is the next one.
///    Then all living members have contributed to that, which they do only once they have read this one. A slot is
///    written again no earlier, for the same reason.
///
/// agreement.pml models it.
///
/// That is for members that have one arena. If some are on other hosts, each sends its contribution to mpiexec, through
/// its node daemon, and mpiexec decides (launch/hosts/agreements.h). The daemon writes the decision to the member's
/// DecisionTicket, and wakes it.
#pragma once

#include "boot/recovery_request.h"
#include "core/engine.h"
#include "core/recovery_state.h"
#include "core/request.h"

#include <cstdint>
#include <vector>

namespace volley {

struct AgreementDecision; // in the arena

class Agreement : public Request, private ProgressHook {
  public:
    /// `flag` is what this process brings. `state` is what recovery_state() gave, if all members have this arena.
    Agreement(const char *name, Communicator &communicator, RecoveryState *state, std::uint32_t flag);

    /// Contributes, and begins to take part in the decision.
    void begin();

    const char *name() const override {
        return name_;
    }
    WaitingFor about() const override;

  protected:
    ~Agreement() override;

    /// Adds to a proposal what else is to be decided, and takes that out of a proposal that was not the first.
    virtual void extend(AgreementDecision &) {}
    virtual void withdraw(AgreementDecision &) {}
    /// Takes what was decided. Returns an error code.
    virtual int take(AgreementDecision &decision) = 0;
    /// Whether memory that members share can be part of the decision.
    bool is_in_memory() const {
        return state_ != nullptr;
    }

    /// All members of both groups, in an order that is the same in all of them; so many are of the first group.
    std::vector<ProcessIndex> members_;
    std::size_t first_group_;

  private:
    void progress() override;
    std::vector<std::uint64_t> acknowledged() const;
    // Among members that have one arena.
    bool decide_in_memory();
    void contribute();
    bool all_contributed();
    AgreementDecision *propose() const;
    AgreementDecision *decided() const;
    // By mpiexec.
    bool decided_by_launcher();
    void ask_launcher();
    // Without anybody else.
    bool decide_alone();

    RecoveryState *state_;
    DecisionTicket *ticket_ = nullptr;
    AgreementDecision *offer_ = nullptr; ///< what the launcher was offered for a shrunk communicator
    const char *name_;
    std::uint32_t number_, flag_;
    std::uint32_t own_ = 0;  ///< index among the members
    std::uint32_t next_ = 0; ///< member to look at; those before it have contributed or failed
    bool has_contributed_ = false;
};

/// Plain data; a bitmap of the members that have failed follows.
struct alignas(cache_line) AgreementDecision {
    std::uint32_t flag;            ///< the bitwise and of those that were brought
    std::uint32_t is_acknowledged; ///< 1: all members that have contributed had acknowledged all failures
    // Of a shrunk communicator (communicator/context_allocation.h); of an intercommunicator the second are those of
    // its two local communicators.
    std::uint64_t context;
    std::uint64_t local_contexts[2];
    std::uint64_t areas[2];

    std::uint64_t &failed(std::uint32_t word) {
        return reinterpret_cast<std::uint64_t *>(this + 1)[word];
    }
    bool has_failed(std::uint32_t member) {
        return (failed(member / 64) >> member % 64 & 1) != 0;
    }
    void fail(std::uint32_t member) {
        failed(member / 64) |= std::uint64_t{1} << member % 64;
    }
    static std::size_t footprint(std::size_t members) {
        return sizeof(AgreementDecision) + whole_lines((members + 63) / 64 * sizeof(std::uint64_t));
    }
};

/// Returns once all living members of the communicator have called it.
int meet_living_members(Communicator &communicator);

} // namespace volley
