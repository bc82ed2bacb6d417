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

} // namespace

Agreement::Agreement(const char *name, Communicator &among, RecoveryState &state, std::uint32_t flag)
    : state_(state), members_(members_of(among)), first_group_(static_cast<std::size_t>(first_group_of(among).size())),
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
            .peer_process = next_ < members_.size() ? members_[next_] : -1};
}

void Agreement::contribute() {
    AgreementSlot &slot = state_.slot(own_);
    slot.flag.store(flag_, std::memory_order_relaxed);
    std::vector<std::uint64_t> bitmap(state_.bitmap_words());
    const std::vector<ProcessIndex> failed = failures.failed_members(*communicator);
    for (int i = 0; i < communicator->acknowledged; i++) {
        const auto member = std::ranges::find(members_, failed[static_cast<std::size_t>(i)]) - members_.begin();
        bitmap[static_cast<std::size_t>(member) / 64] |= std::uint64_t{1} << member % 64;
    }
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
        if (state_.slot(next_).number.load(std::memory_order_acquire) != number_ && !node.has_failed(members_[next_]))
            return false;
    return true;
}

/// What this process sees. If meanwhile the agreement has been decided, this may be nonsense, but nobody will look at
/// it.
AgreementDecision *Agreement::propose() const {
    auto *made = static_cast<AgreementDecision *>(arena_allocate(AgreementDecision::footprint(state_)));
    if (!made) abort_job_for("the memory ranks share is used up: members of a communicator cannot agree");
    made->flag = ~0U;
    made->is_acknowledged = 1;
    for (std::uint32_t member = 0; member < members_.size(); member++)
        if (node.has_failed(members_[member])) made->failed(member / 64) |= std::uint64_t{1} << member % 64;
    for (std::uint32_t member = 0; member < members_.size(); member++) {
        AgreementSlot &slot = state_.slot(member);
        if (slot.number.load(std::memory_order_acquire) != number_) continue;
        made->flag &= slot.flag.load(std::memory_order_relaxed);
        for (std::uint32_t word = 0; word < state_.bitmap_words(); word++)
            if ((made->failed(word) & ~slot.acknowledged(word).load(std::memory_order_relaxed)) != 0)
                made->is_acknowledged = 0;
    }
    return made;
}

AgreementDecision *Agreement::decided() const {
    const std::uint64_t word = state_.decision.load(std::memory_order_acquire);
    return number_in(word) == number_ ? decision_in(word) : nullptr;
}

void Agreement::progress() {
    // One after the other: the slot is needed until the agreement before is decided.
    if (!has_contributed_ && ((communicator->agreements_ended + 1) & number_mask) != number_) return;
    if (!has_contributed_) contribute();
    AgreementDecision *decision = decided();
    if (!decision) {
        if (!all_contributed()) return;
        std::uint64_t before = state_.decision.load(std::memory_order_acquire);
        AgreementDecision *proposed = number_in(before) == number_ ? nullptr : propose();
        if (proposed) extend(*proposed);
        if (proposed &&
            state_.decision.compare_exchange_strong(before, word_for(number_, *proposed), std::memory_order_acq_rel)) {
            if (AgreementDecision *last = decision_in(before))
                arena_release(last, AgreementDecision::footprint(state_));
        } else if (proposed) {
            withdraw(*proposed);
            arena_release(proposed, AgreementDecision::footprint(state_));
        }
        decision = decided();
    }
    engine.remove_hook(*this);
    completion.error = take(*decision);
    communicator->agreements_ended++;
    complete(); // may dispose of this object
}

} // namespace volley
