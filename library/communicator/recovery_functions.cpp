// SPDX-License-Identifier: BSD-3-Clause
/// Going on without processes that have failed: what the proposal "User Level Failure Mitigation" adds to MPI.
#include "boot/revocation.h"
#include "collective/area.h"
#include "communicator/agreement.h"
#include "communicator/context_allocation.h"
#include "communicator/new_communicator.h"
#include "core/contexts.h"
#include "core/error.h"
#include "core/failures.h"
#include "core/functions.h"
#include "transport/abort.h"

#include <algorithm>
#include <array>
#include <limits>

namespace volley {
namespace {

/// Members of other jobs, or on hosts whose ranks no node daemon has started, cannot be told.
int check_reach(const char *function, const Communicator &communicator) {
    if (share_arena(communicator)) return MPI_SUCCESS;
    const bool has_others =
        communicator.local().has_other_jobs() || (communicator.remote() && communicator.remote()->has_other_jobs());
    if (!has_others && node.arena->launcher_socket.load(std::memory_order_relaxed) != 0) return MPI_SUCCESS;
    return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                has_others ? "%s is for communicators whose members are of one job"
                           : "%s is for members on one host, or of a job that this library's mpiexec has started",
                function);
}

bool is_alone(const Communicator &communicator) {
    return communicator.size() == 1 && !communicator.is_inter();
}

/// All living members get the same flag, and learn in the same way whether there are failures that some have not
/// acknowledged.
class FlagAgreement final : public Agreement {
  public:
    FlagAgreement(const char *name, Communicator &among, RecoveryState *state, int &flag)
        : Agreement(name, among, state, static_cast<std::uint32_t>(flag)), flag_(flag) {}

  private:
    int take(AgreementDecision &decision) override {
        flag_ = static_cast<int>(decision.flag);
        if (decision.is_acknowledged != 0) return MPI_SUCCESS;
        failures.look();
        return fail(MPIX_ERR_PROC_FAILED,
                    "members of the communicator have failed, and not all others had acknowledged "
                    "that (MPIX_Comm_ack_failed); the flag is agreed on nevertheless");
    }

    int &flag_;
};

/// The members that have not failed get a communicator.
class Shrinking final : public Agreement {
  public:
    Shrinking(const char *name, Communicator &among, RecoveryState *state, MPI_Comm &made)
        : Agreement(name, among, state, 0), made_(made) {}

  private:
    using Survivors = std::array<Group *, 2>; ///< of the two groups; the second is empty in an intracommunicator

    Survivors survivors(AgreementDecision &decision) const {
        std::array<std::vector<ProcessIndex>, 2> living;
        for (std::uint32_t member = 0; member < members_.size(); member++)
            if (!decision.has_failed(member)) living[member < first_group_ ? 0 : 1].push_back(members_[member]);
        return {Group::make(std::move(living[0])), Group::make(std::move(living[1]))};
    }
    static void release(const Survivors &survivors) {
        for (Group *group : survivors) Group::release(*group);
    }
    /// As MPI_Comm_split would have it: there is no intercommunicator with an empty group.
    bool is_empty(const Survivors &survivors) const {
        return communicator->is_inter() && (survivors[0]->size() == 0 || survivors[1]->size() == 0);
    }
    void extend(AgreementDecision &decision) override {
        const Survivors living = survivors(decision);
        if (!communicator->is_inter()) {
            decision.context = draw_shared_context(*living[0]);
        } else if (!is_empty(living)) {
            const auto [first, second] = draw_for_both(*living[0], *living[1]);
            decision.context = first.context;
            decision.local_contexts[0] = first.local_context;
            decision.local_contexts[1] = second.local_context;
        }
        for (std::size_t group = 0; is_in_memory() && decision.context != 0 && group < living.size(); group++)
            decision.areas[group] = draw_area(*living[group]);
        release(living);
    }
    void withdraw(AgreementDecision &decision) override {
        for (SharedContext context : {decision.context, decision.local_contexts[0], decision.local_contexts[1]})
            if (context != 0) give_back_shared_context(context);
        for (std::uint64_t offset : decision.areas) {
            if (offset == 0) continue;
            auto &area = *arena_pointer<CollectiveArea>(offset);
            for (std::uint32_t rank = area.ranks; rank > 0; rank--) leave_area(area);
        }
    }
    int take(AgreementDecision &decision) override {
        failures.look();
        const Survivors living = survivors(decision);
        const std::size_t own = living[0]->rank() != MPI_UNDEFINED ? 0 : 1;
        int code = MPI_SUCCESS;
        if (!is_empty(living))
            code = make(*living[own], communicator->is_inter() ? living[1 - own] : nullptr,
                        {.context = decision.context,
                         .local_context = decision.local_contexts[own],
                         .area = decision.areas[own]});
        release(living);
        return code;
    }
    int make(Group &local, Group *remote, const AllocatedContext &allocated) {
        if (allocated.context == 0) return no_context();
        Communicator *made = Communicator::make_unsettled(local, remote);
        if (int code = settle(*made, allocated)) {
            Communicator::release(*made);
            return code;
        }
        made_ = hand_out(*communicator, made, nullptr);
        return MPI_SUCCESS;
    }

    MPI_Comm &made_;
};

int run(Agreement &agreement) {
    agreement.begin();
    wait_for(agreement);
    const int code = agreement.finish();
    agreement.dispose();
    return code;
}

int start(Agreement &agreement, MPI_Request *request) {
    *request = agreement.handle();
    agreement.begin();
    return MPI_SUCCESS;
}

/// Where the members meet; `code` is an error if they cannot. Members without a common arena meet at mpiexec, and one
/// that is alone meets nobody: then there is no state.
RecoveryState *meeting_place(const char *function, Communicator &communicator, int &code) {
    code = is_alone(communicator) ? MPI_SUCCESS : check_reach(function, communicator);
    if (code != MPI_SUCCESS || is_alone(communicator) || !share_arena(communicator)) return nullptr;
    RecoveryState *state = recovery_state(communicator);
    if (!state) code = fail(MPI_ERR_NO_MEM, "the memory ranks share is used up: %s needs some of it", function);
    return state;
}

/// A group of the first so many members that have failed.
MPI_Group failed_group(const Communicator &communicator, std::size_t count) {
    std::vector<ProcessIndex> failed = failures.failed_members(communicator);
    failed.resize(std::min(count, failed.size()));
    return failed.empty() ? MPI_GROUP_EMPTY : Group::make(std::move(failed), communicator.session)->handle();
}

} // namespace

namespace mpi {

int Comm_revoke(Communicator &comm) {
    if (comm.is_revoked()) return MPI_SUCCESS;
    if (!is_alone(comm)) {
        if (int code = check_reach("MPIX_Comm_revoke", comm)) return code;
        const std::uint32_t context = comm.context(Traffic::program);
        // Other hosts first: if this process fails after that, all hosts are told all the same, this one as well.
        if (!share_arena(comm) &&
            !send_recovery_request(
                *node.arena,
                {.kind = RecoveryRequestKind::revoke, .context = context, .ticket = 0, .contribution = {}}))
            abort_job_for("the node daemon of this host, which tells others of a revocation, is gone");
        // If it fails between these lines, the launcher raises the count of incidents, and wakes all.
        if (!note_revoked(*node.arena, context))
            return fail(MPI_ERR_NO_MEM, "there are too many communicators: this one cannot be revoked");
        node.wake_all();
    }
    failures.revoke(comm);
    failures.attend();
    return MPI_SUCCESS;
}

int Comm_is_revoked(Communicator &comm, int *flag) {
    engine.progress();
    *flag = comm.is_revoked();
    return MPI_SUCCESS;
}

int Comm_get_failed(Communicator &comm, MPI_Group *failedgrp) {
    failures.look();
    *failedgrp = failed_group(comm, static_cast<std::size_t>(comm.failed_members));
    return MPI_SUCCESS;
}

int Comm_ack_failed(Communicator &comm, int num_to_ack, int *num_acked) {
    failures.look();
    comm.acknowledged = std::max(comm.acknowledged, std::min(num_to_ack, comm.failed_members));
    *num_acked = comm.acknowledged;
    return MPI_SUCCESS;
}

int Comm_failure_ack(Communicator &comm) {
    int acknowledged;
    return Comm_ack_failed(comm, std::numeric_limits<int>::max(), &acknowledged);
}

int Comm_failure_get_acked(Communicator &comm, MPI_Group *failedgrp) {
    *failedgrp = failed_group(comm, static_cast<std::size_t>(comm.acknowledged));
    return MPI_SUCCESS;
}

int Comm_agree(Communicator &comm, int *flag) {
    int code;
    RecoveryState *state = meeting_place("MPIX_Comm_agree", comm, code);
    return code ? code : run(*new FlagAgreement("MPIX_Comm_agree", comm, state, *flag));
}

int Comm_iagree(Communicator &comm, int *flag, MPI_Request *request) {
    int code;
    RecoveryState *state = meeting_place("MPIX_Comm_iagree", comm, code);
    return code ? code : start(*new FlagAgreement("MPIX_Comm_iagree", comm, state, *flag), request);
}

int Comm_shrink(Communicator &comm, MPI_Comm *newcomm) {
    *newcomm = MPI_COMM_NULL;
    int code;
    RecoveryState *state = meeting_place("MPIX_Comm_shrink", comm, code);
    return code ? code : run(*new Shrinking("MPIX_Comm_shrink", comm, state, *newcomm));
}

int Comm_ishrink(Communicator &comm, MPI_Comm *newcomm, MPI_Request *request) {
    *newcomm = MPI_COMM_NULL;
    int code;
    RecoveryState *state = meeting_place("MPIX_Comm_ishrink", comm, code);
    return code ? code : start(*new Shrinking("MPIX_Comm_ishrink", comm, state, *newcomm), request);
}

} // namespace mpi

int meet_living_members(Communicator &communicator) {
    int code, flag = 0;
    RecoveryState *state = meeting_place("MPI_Finalize", communicator, code);
    if (code == MPI_SUCCESS) code = run(*new FlagAgreement("MPI_Finalize", communicator, state, flag));
    return error_class_of(code) == MPIX_ERR_PROC_FAILED ? MPI_SUCCESS : code;
}

} // namespace volley
