// SPDX-License-Identifier: BSD-3-Clause
#include "core/failures.h"

#include "core/engine.h"
#include "core/error.h"
#include "core/messages.h"
#include "core/recovery_state.h"

#include "transport/abort.h"

#include <algorithm>
#include <string>

namespace volley {

Failures failures;

namespace {

/// Rounds of progress until nothing moves take what has arrived. Others may send meanwhile, so there is an end to it:
/// after so many rounds the rings have been taken in full, as long as they are (Channels).
constexpr int most_rounds = 64;

bool has_member(const Communicator &communicator, ProcessIndex process) {
    return communicator.local().member(process) != MPI_UNDEFINED ||
           communicator.peer_group().member(process) != MPI_UNDEFINED;
}

constexpr Traffic all_traffic[] = {Traffic::program, Traffic::collective, Traffic::partitioned_setup,
                                   Traffic::partitioned};

} // namespace

void Failures::enter(Communicator &communicator) {
    communicators_.append(communicator);
    communicator.is_known_ = true;
    // It may have lost a member, or have been revoked, before this process had its context.
    if (any_ || node.arena->incidents.load(std::memory_order_acquire) != 0) judge(communicator);
}

void Failures::leave(Communicator &communicator) {
    if (!communicator.is_known_) return;
    communicators_.remove(communicator);
    communicator.is_known_ = false;
    std::erase(lost_, &communicator);
}

void Failures::learn() {
    for (int round = 0; round < most_rounds && messages.progress(Look::everywhere); round++) {}
    for (ProcessIndex process = 0; process < processes.ranks(); process++) {
        if (node.failure_of(process) == Failure::none || std::ranges::find(failed_, process) != failed_.end()) continue;
        failed_.push_back(process);
        shared_memory.forget(process);
        tcp.forget(process);
    }
    any_ |= !failed_.empty();
    for (Communicator *each = communicators_.first(); each; each = communicators_.after(*each)) judge(*each);
}

/// Brings what this process knows of a communicator up to date.
void Failures::judge(Communicator &communicator) {
    if (communicator.is_revoked()) return;
    if (was_revoked(communicator)) return revoke(communicator);
    if (communicator.serves != nullptr && communicator.serves->fault != MPI_SUCCESS &&
        communicator.fault == MPI_SUCCESS)
        lose(communicator, communicator.serves->fault);
    for (; communicator.failures_seen < failed_.size(); communicator.failures_seen++) {
        const ProcessIndex process = failed_[communicator.failures_seen];
        if (!has_member(communicator, process)) continue;
        communicator.failed_members++;
        if (communicator.fault == MPI_SUCCESS) mark(communicator, error_class_of(node.failure_of(process)));
    }
}

/// The two communicators of an intercommunicator serve the same operations, and so do those of the levels of a
/// hierarchy and the one that has it.
void Failures::mark(Communicator &communicator, int error_class) {
    lose(communicator, error_class);
    for (Communicator *other = communicators_.first(); other; other = communicators_.after(*other))
        if ((other == communicator.local_communicator || other->local_communicator == &communicator ||
             other->serves == &communicator) &&
            other->fault != error_class && !other->is_revoked())
            mark(*other, error_class);
}

void Failures::lose(Communicator &communicator, int error_class) {
    if (communicator.fault == MPI_SUCCESS) lost_.push_back(&communicator);
    communicator.lose(error_class);
}

void Failures::revoke(Communicator &communicator) {
    any_ = true;
    mark(communicator, MPIX_ERR_REVOKED);
    // What has arrived is not received any more, so that senders need not wait.
    for (const Traffic traffic : {Traffic::program, Traffic::collective})
        while (Unexpected *message = communicator.queues(traffic).arrivals.first()) {
            messages.reserve(*message);
            drop_unexpected(*message);
        }
}

bool Failures::attend() {
    if (!has_seen_all()) return look();
    return !attends_ && end_all();
}

bool Failures::look() {
    if (attends_) return false; // this is called from within end_all()
    seen_ = node.arena->incidents.load(std::memory_order_acquire);
    learn();
    end_all();
    return true;
}

/// Ends what cannot be completed.
bool Failures::end_all() {
    if (lost_.empty() && failed_.empty()) return false;
    attends_ = true; // completing an operation may make progress of its own
    bool ended = false;
    // Completing a receive may free its communicator, and make others.
    const std::vector<Communicator *> all = lost_;
    for (Communicator *communicator : all)
        if (std::ranges::find(lost_, communicator) != lost_.end()) ended |= end_receives(*communicator);
    const auto is_over = [this](const Send &send) { return this->is_over(send); };
    const auto code_of = [this](const Send &send) {
        return node.has_failed(send.receiver) ? this->code_of(send.receiver)
                                              : this->code_of(*lost_with(send.envelope.context));
    };
    ended |= shared_memory.end_sends(is_over, code_of);
    ended |= tcp.end_sends(is_over, code_of);
    ended |= shared_memory.end_fetches();
    attends_ = false;
    return ended;
}

bool Failures::is_over(const Communicator &communicator, Traffic traffic, const Receive &receive) const {
    if (communicator.is_revoked() || traffic == Traffic::collective) return true;
    // Of a request from any source, the wait is interrupted; a blocking receive is over.
    return (receive.source != MPI_ANY_SOURCE || receive.request == nullptr) &&
           may_lack_sender(communicator, receive.source);
}

bool Failures::end_receives(Communicator &communicator) {
    bool ended = false;
    communicator.retain();
    for (const Traffic traffic : all_traffic) {
        if (!communicator.has_queues(traffic)) continue;
        MatchQueues &queues = communicator.queues(traffic);
        for (Receive *receive :
             queues.posted([&](const Receive &each) { return is_over(communicator, traffic, each); })) {
            receive->completion.source = receive->source;
            receive->completion.tag = receive->tag;
            receive->completion.error =
                traffic == Traffic::collective ? code_of(communicator) : code_of(communicator, receive->source);
            queues.unpost(*receive);
            received(*receive);
            ended = true;
        }
    }
    Communicator::release(communicator);
    return ended;
}

const Communicator *Failures::lost_with(std::uint32_t context) const {
    const auto found = std::ranges::find_if(lost_, [&](const Communicator *communicator) {
        return communicator->context(Traffic::program) == communicator_of(context);
    });
    return found != lost_.end() ? *found : nullptr;
}

bool Failures::is_over(const Send &send) const {
    if (node.failure_of(send.receiver) != Failure::none) return true;
    const Communicator *communicator = lost_with(send.envelope.context);
    if (communicator == nullptr) return false;
    return communicator->is_revoked() || traffic_of(send.envelope.context) == Traffic::collective;
}

bool Failures::may_lack_sender(const Communicator &communicator, int peer) const {
    if (communicator.is_revoked()) return true;
    if (peer == MPI_ANY_SOURCE) return communicator.failed_members > communicator.acknowledged;
    return peer >= 0 && node.failure_of(communicator.peer_process(peer)) != Failure::none;
}

std::vector<ProcessIndex> Failures::failed_members(const Communicator &communicator) const {
    std::vector<ProcessIndex> members;
    for (const ProcessIndex process : failed_)
        if (has_member(communicator, process)) members.push_back(process);
    return members;
}

void abort_members(const Communicator &communicator, int code) {
    std::vector<ProcessIndex> members = communicator.local().processes();
    if (communicator.remote())
        members.insert(members.end(), communicator.remote()->processes().begin(),
                       communicator.remote()->processes().end());
    const bool is_part = std::ranges::all_of(members, [](ProcessIndex member) { return member < processes.ranks(); }) &&
                         members.size() < static_cast<std::size_t>(processes.ranks());
    if (node.arena->recovery == 0 || !is_part) abort_job(code);
    for (const ProcessIndex member : members) {
        std::uint32_t nobody = 0;
        rank_records(node.arena)[member].to_abort.compare_exchange_strong(nobody,
                                                                          static_cast<std::uint32_t>(node.rank) + 1);
    }
    abort_marked_ranks(code);
}

int Failures::code_of(ProcessIndex process) const {
    const Failure failure = node.failure_of(process);
    return fail(error_class_of(failure), "rank %d of MPI_COMM_WORLD %s", processes.rank_in_job(process),
                failure == Failure::aborted ? "was aborted" : "has failed");
}

int Failures::code_of(const Communicator &communicator) const {
    if (communicator.serves != nullptr && communicator.serves->fault != MPI_SUCCESS)
        return code_of(*communicator.serves);
    if (communicator.is_revoked())
        return fail(MPIX_ERR_REVOKED, "the communicator was revoked: MPIX_Comm_shrink makes one that can be used");
    std::string ranks;
    for (const ProcessIndex process : failed_members(communicator))
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(processes.rank_in_job(process));
    return fail(communicator.fault == MPI_SUCCESS ? MPIX_ERR_PROC_FAILED : communicator.fault,
                "the communicator has lost members: of MPI_COMM_WORLD, rank %s", ranks.c_str());
}

int Failures::code_of(const Communicator &communicator, int peer) const {
    if (peer == MPI_ANY_SOURCE || communicator.is_revoked()) return code_of(communicator);
    return code_of(communicator.peer_process(peer));
}

} // namespace volley
