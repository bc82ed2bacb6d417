// SPDX-License-Identifier: BSD-3-Clause
#include "communicator/context_allocation.h"

#include "collective/area.h"
#include "core/contexts.h"
#include "core/failures.h"
#include "transport/node_shared.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace volley {

std::uint64_t draw_area(const Group &group) {
    if (group.size() < 2) return 0;
    const CollectiveArea *area = make_area(group);
    return area ? arena_offset(area) : 0;
}

ContextsOfBoth draw_for_both(const Group &local, const Group &remote) {
    ContextsOfBoth drawn;
    drawn.local = {draw_shared_context(local, &remote), draw_shared_context(local), 0};
    drawn.remote = {drawn.local.context, draw_shared_context(remote), 0};
    std::array contexts = {drawn.local.context, drawn.local.local_context, drawn.remote.local_context};
    if (std::ranges::find(contexts, 0U) == contexts.end()) return drawn;
    for (SharedContext context : contexts)
        if (context != 0) give_back_shared_context(context);
    return {};
}

int settle(Communicator &made, const AllocatedContext &allocated) {
    std::uint32_t context = context_number(allocated.context, made.members_here());
    if (context == 0) return no_context();
    made.settle(context);
    if (made.is_inter()) {
        made.local_communicator = Communicator::make_unsettled(made.local(), nullptr);
        context = context_number(allocated.local_context, made.local_communicator->members_here());
        if (context == 0) return no_context();
        made.local_communicator->settle(context);
    }
    Communicator &intra = made.is_inter() ? *made.local_communicator : made;
    intra.area = allocated.area != 0 ? arena_pointer<CollectiveArea>(allocated.area) : nullptr;
    return MPI_SUCCESS;
}

namespace {
using AllocatedWords = std::array<std::int32_t, allocated_words>;
} // namespace

std::vector<std::int32_t> to_words(const AllocatedContext &allocated) {
    auto words = std::bit_cast<AllocatedWords>(allocated);
    return {words.begin(), words.end()};
}

AllocatedContext to_allocated(std::span<const std::int32_t> words) {
    AllocatedWords first;
    std::ranges::copy_n(words.begin(), allocated_words, first.begin());
    return std::bit_cast<AllocatedContext>(first);
}

int next_collective_tag(Communicator &communicator) {
    return static_cast<int>(communicator.number_collective() &
                            static_cast<std::uint32_t>(std::numeric_limits<int>::max()));
}

// The parent of a member is its index without the lowest bit that is set: its children differ from it in one lower bit.

int tree_parent(int index) {
    return index & (index - 1);
}

std::vector<int> tree_children(int index, int size) {
    std::vector<int> children;
    for (int bit = 1; (index & bit) == 0 && index + bit < size && bit > 0; bit <<= 1) children.push_back(index + bit);
    std::ranges::reverse(children);
    return children;
}

ContextAllocation::ContextAllocation(Communicator &made, Participants participants,
                                     std::optional<RemoteRoot> remote_root)
    : made_(made), participants_(std::move(participants)), remote_root_(remote_root) {
    communicator = remote_root_ ? &remote_root_->carrier : &participants_.carrier; // its error handler gets failures
    made_.retain();
    participants_.carrier.retain();
    if (remote_root_) remote_root_->carrier.retain();
    if (participants_.carrier.fault != MPI_SUCCESS)
        completion.error = failures.code_of(participants_.carrier); // no other begins, either, or gets to its end
    else if (participants_.index == 0)
        begin_as_root();
    else
        receive_from({participants_.carrier,
                      participants_.members[static_cast<std::size_t>(tree_parent(participants_.index))],
                      participants_.tag, Traffic::collective});
    engine.register_hook(*this);
    progress();
}

ContextAllocation::~ContextAllocation() {
    Communicator::release(made_);
    Communicator::release(participants_.carrier);
    if (remote_root_) Communicator::release(remote_root_->carrier);
}

void ContextAllocation::begin_as_root() {
    if (!remote_root_) {
        allocated_.context = draw_shared_context(made_.local());
    } else if (remote_root_->draws) {
        auto [local, remote] = draw_for_both(made_.local(), *made_.remote());
        allocated_ = local;
        remote_allocated_ = remote;
        send_to({remote_root_->carrier, remote_root_->peer, remote_root_->tag, Traffic::collective}, remote_allocated_);
    } else {
        return receive_from({remote_root_->carrier, remote_root_->peer, remote_root_->tag, Traffic::collective});
    }
    send_on();
}

void ContextAllocation::receive_from(const Address &from) {
    receipt_ = start_receive(Data::bytes(&received_, sizeof received_), from);
}

void ContextAllocation::send_to(const Address &to, const AllocatedContext &allocated) {
    sends_.push_back(start_send(Data::bytes(&allocated, sizeof allocated), to));
}

void ContextAllocation::take_receipt() {
    completion.error = receipt_->finish();
    receipt_->dispose();
    receipt_ = nullptr;
    if (completion.error != MPI_SUCCESS) return; // nobody below goes on, either: the carrier has lost a member
    allocated_ = received_;
    send_on();
}

void ContextAllocation::send_on() {
    if (participants_.index == 0 && allocated_.context != 0) allocated_.area = draw_area(made_.local());
    for (int child : tree_children(participants_.index, static_cast<int>(participants_.members.size())))
        send_to({participants_.carrier, participants_.members[static_cast<std::size_t>(child)], participants_.tag,
                 Traffic::collective},
                allocated_);
}

void ContextAllocation::progress() {
    if (receipt_ && receipt_->is_complete()) take_receipt();
    if (receipt_ || !std::ranges::all_of(sends_, &Request::is_complete)) return;
    engine.remove_hook(*this);
    for (Request *sent : sends_) {
        if (int code = sent->finish(); code != MPI_SUCCESS) completion.error = code;
        sent->dispose();
    }
    sends_.clear();
    if (completion.error == MPI_SUCCESS) completion.error = settle(made_, allocated_);
    complete();
}

int allocate_context(Communicator &made, ContextAllocation::Participants participants,
                     std::optional<ContextAllocation::RemoteRoot> remote_root) {
    auto *agreement = new ContextAllocation(made, std::move(participants), remote_root);
    wait_for(*agreement);
    int code = agreement->finish();
    agreement->dispose();
    return code;
}

int make_subset(Communicator &parent, const std::vector<int> &members, Communicator *&made) {
    made = nullptr;
    int tag = next_collective_tag(parent);
    auto own = std::ranges::find(members, parent.rank());
    if (own == members.end()) return MPI_SUCCESS;
    std::vector<ProcessIndex> chosen;
    chosen.reserve(members.size());
    for (int member : members) chosen.push_back(parent.peer_process(member));
    Group *group = Group::make(std::move(chosen));
    made = Communicator::make_unsettled(*group, nullptr);
    Group::release(*group);
    int code = allocate_context(*made, {parent, members, static_cast<int>(own - members.begin()), tag});
    if (code != MPI_SUCCESS) Communicator::release(*std::exchange(made, nullptr));
    return code;
}

} // namespace volley
