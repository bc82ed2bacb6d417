// SPDX-License-Identifier: BSD-3-Clause
#include "communicator/agreement.h"

#include "core/error.h"
#include "core/failures.h"
#include "transport/abort.h"
#include "transport/memory.h"

#include <algorithm>

namespace volley {
namespace {

/// RecoveryState::decision: the number above, and the place of the decision, in cache lines, below.
constexpr int place_bits = 40;
constexpr std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;
constexpr std::uint32_t number_mask = 0xff'ffff;

std::uint64_t word_for(std::uint32_t number, const AgreementDecision &decision) {
    return std::uint64_t{number} << place_bits | arena_offset(&decision) / cache_line;
}
std::uint32_t number_in(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> place_bits);
}
AgreementDecision *decision_in(std::uint64_t word) {
    return (word & place_mask) != 0 ? arena_pointer<AgreementDecision>((word & place_mask) * cache_line) : nullptr;
}

/// Both groups of an intercommunicator list themselves first: the one with the process that has the lowest number
/// leads.
const Group &first_group_of(const Communicator &communicator) {
    const Group &local = communicator.local(), &other = communicator.peer_group();
    return std::ranges::min(other.processes()) < std::ranges::min(local.processes()) ? other : local;
}

std::vector<ProcessIndex> members_of(const Communicator &communicator) {
    const Group &first = first_group_of(communicator);
    std::vector<ProcessIndex> members = first.processes();
    if (!communicator.is_inter()) return members;
    const Group &second = &first == &communicator.local() ? *communicator.remote() : communicator.local();
    members.insert(members.end(), second.processes().begin(), second.processes().end());
    return members;
}

AgreementDecision *make_decision(std::size_t members) {
    auto *made = static_cast<AgreementDecision *>(arena_allocate(AgreementDecision::footprint(members)));
    if (!made) abort_job_for("the memory ranks share is used up: members of a communicator cannot agree");
    made->flag = ~0U;
    made->is_acknowledged = 1;
    return made;
}

void release_decision(AgreementDecision *decision, std::size_t members) {
    arena_release(decision, AgreementDecision::footprint(members));
}

OfferedContexts contexts_of(const AgreementDecision &decision) {
    return {decision.context, decision.local_contexts[0], decision.local_contexts[1]};
}

} // namespace

Agreement::Agreement(const char *name, Communicator &among, RecoveryState *state, std::uint32_t flag)
    : members_(members_of(among)), first_group_(static_cast<std::size_t>(first_group_of(among).size())), state_(state),
      name_(name), number_(++among.agreements_begun & number_mask), flag_(flag) {
    communicator = &among;
    among.retain();
    own_ = static_cast<std::uint32_t>(std::ranges::find(members_, node.rank) - members_.begin());
}

void Agreement::begin() {
    engine.register_hook(*this);
    progress();
}

Agreement::~Agreement() {
    Communicator::release(*communicator);
}

WaitingFor Agreement::about() const {
    return {.peer = MPI_ANY_SOURCE,
            .context = communicator->context(Traffic::collective),
            .kind = WaitKind::collective,
            .peer_process = state_ != nullptr && next_ < members_.size() ? members_[next_] : -1};
}

/// A bitmap of the members whose failure this process has acknowledged.
std::vector<std::uint64_t> Agreement::acknowledged() const {
    std::vector<std::uint64_t> bitmap((members_.size() + 63) / 64);
    const std::vector<ProcessIndex> failed = failures.failed_members(*communicator);
    for (int i = 0; i < communicator->acknowledged; i++) {
        const auto member = std::ranges::find(members_, failed[static_cast<std::size_t>(i)]) - members_.begin();
        bitmap[static_cast<std::size_t>(member) / 64] |= std::uint64_t{1} << member % 64;
    }
    return bitmap;
}

void Agreement::contribute() {
    AgreementSlot &slot = state_->slot(own_);
    slot.flag.store(flag_, std::memory_order_relaxed);
    const std::vector<std::uint64_t> bitmap = acknowledged();
    for (std::uint32_t word = 0; word < bitmap.size(); word++)
        slot.acknowledged(word).store(bitmap[word], std::memory_order_relaxed);
    slot.number.store(number_, std::memory_order_release);
    for (const ProcessIndex member : members_)
        if (member != node.rank) node.wake_rank(member);
    has_contributed_ = true;
}

bool Agreement::all_contributed() {
    // Whoever was seen to have failed or contributed stays so until this agreement is decided.
    for (; next_ < members_.size(); next_++)
        if (state_->slot(next_).number.load(std::memory_order_acquire) != number_ && !node.has_failed(members_[next_]))
            return false;
    return true;
}

/// What this process sees. If meanwhile the agreement has been decided, this may be nonsense, but nobody will look at
/// it.
AgreementDecision *Agreement::propose() const {
    AgreementDecision *made = make_decision(members_.size());
    for (std::uint32_t member = 0; member < members_.size(); member++)
        if (node.has_failed(members_[member])) made->fail(member);
    for (std::uint32_t member = 0; member < members_.size(); member++) {
        AgreementSlot &slot = state_->slot(member);
        if (slot.number.load(std::memory_order_acquire) != number_) continue;
        made->flag &= slot.flag.load(std::memory_order_relaxed);
        for (std::uint32_t word = 0; word < state_->bitmap_words(); word++)
            if ((made->failed(word) & ~slot.acknowledged(word).load(std::memory_order_relaxed)) != 0)
                made->is_acknowledged = 0;
    }
    return made;
}

AgreementDecision *Agreement::decided() const {
    const std::uint64_t word = state_->decision.load(std::memory_order_acquire);
    return number_in(word) == number_ ? decision_in(word) : nullptr;
}

bool Agreement::decide_in_memory() {
    if (!has_contributed_) contribute();
    AgreementDecision *decision = decided();
    if (!decision) {
        if (!all_contributed()) return false;
        std::uint64_t before = state_->decision.load(std::memory_order_acquire);
        AgreementDecision *proposed = number_in(before) == number_ ? nullptr : propose();
        if (proposed) extend(*proposed);
        if (proposed &&
            state_->decision.compare_exchange_strong(before, word_for(number_, *proposed), std::memory_order_acq_rel)) {
            if (AgreementDecision *last = decision_in(before)) release_decision(last, members_.size());
        } else if (proposed) {
            withdraw(*proposed);
            release_decision(proposed, members_.size());
        }
        decision = decided();
    }
    completion.error = take(*decision);
    return true;
}

/// The request is sent in one piece or not at all, whenever this process is killed.
void Agreement::ask_launcher() {
    const auto ranks = static_cast<std::size_t>(processes.ranks());
    ticket_ = static_cast<DecisionTicket *>(arena_allocate(DecisionTicket::footprint(ranks)));
    if (!ticket_) abort_job_for("the memory ranks share is used up: members of a communicator cannot agree");
    offer_ = make_decision(members_.size());
    for (std::uint32_t member = 0; member < members_.size(); member++)
        if (node.has_failed(members_[member])) offer_->fail(member);
    extend(*offer_);
    Contribution own{.context = communicator->context(Traffic::program),
                     .number = number_,
                     .rank = static_cast<std::uint32_t>(node.rank),
                     .flag = flag_,
                     .contexts = contexts_of(*offer_),
                     .members = RankSet(ranks),
                     .acknowledged = RankSet(ranks)};
    const std::vector<std::uint64_t> bitmap = acknowledged();
    for (std::size_t member = 0; member < members_.size(); member++) {
        const auto rank = static_cast<std::size_t>(members_[member]);
        own.members.add(rank);
        if ((bitmap[member / 64] >> member % 64 & 1) != 0) own.acknowledged.add(rank);
    }
    has_contributed_ = true;
    if (!send_recovery_request(*node.arena, {.kind = RecoveryRequestKind::agree,
                                             .context = own.context,
                                             .ticket = arena_offset(ticket_),
                                             .contribution = own.encode()}))
        abort_job_for("the node daemon of this host, through which processes agree, is gone");
}

bool Agreement::decided_by_launcher() {
    if (!has_contributed_) ask_launcher();
    if (ticket_->is_decided.load(std::memory_order_acquire) == 0) return false;
    AgreementDecision *decision = make_decision(members_.size());
    decision->flag = ticket_->flag;
    decision->is_acknowledged = ticket_->is_acknowledged;
    const auto &[context, first, second] = ticket_->contexts;
    decision->context = context;
    decision->local_contexts[0] = first;
    decision->local_contexts[1] = second;
    for (std::uint32_t member = 0; member < members_.size(); member++) {
        const auto rank = static_cast<std::size_t>(members_[member]);
        if ((ticket_->failed()[rank / 64] >> rank % 64 & 1) != 0) decision->fail(member);
    }
    if (contexts_of(*decision) != contexts_of(*offer_)) withdraw(*offer_);
    completion.error = take(*decision);
    for (AgreementDecision *each : {decision, offer_}) release_decision(each, members_.size());
    arena_release(ticket_, DecisionTicket::footprint(static_cast<std::size_t>(processes.ranks())));
    return true;
}

bool Agreement::decide_alone() {
    AgreementDecision *decision = make_decision(members_.size());
    decision->flag = flag_;
    extend(*decision);
    completion.error = take(*decision);
    release_decision(decision, members_.size());
    return true;
}

void Agreement::progress() {
    // One after the other: what a member brings is needed until the agreement before is decided.
    if (!has_contributed_ && ((communicator->agreements_ended + 1) & number_mask) != number_) return;
    const bool is_alone = members_.size() == 1;
    if (!(is_alone ? decide_alone() : state_ != nullptr ? decide_in_memory() : decided_by_launcher())) return;
    engine.remove_hook(*this);
    communicator->agreements_ended++;
    complete(); // may dispose of this object
}

} // namespace volley
