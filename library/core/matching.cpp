// SPDX-License-Identifier: BSD-3-Clause
#include "core/matching.h"

#include "core/ledger.h"

#include <cstdlib>
#include <unordered_map>

namespace volley {
namespace {

bool tag_fits(int wanted, int tag) {
    return wanted == tag || wanted == MPI_ANY_TAG;
}

std::unordered_map<std::uint32_t, MatchQueues *> &contexts() {
    static auto *map = new std::unordered_map<std::uint32_t, MatchQueues *>; // outlives static destructors
    return *map;
}

/// Most messages come in the context of the one before.
MatchQueues *last_used = nullptr;

} // namespace

MatchQueues::ReceiveChain &MatchQueues::receives_from(int source) {
    if (source == MPI_ANY_SOURCE) return any_source_;
    auto index = static_cast<std::size_t>(source);
    if (index >= receives_.size()) [[unlikely]]
        receives_.resize(index + 1);
    return receives_[index];
}

void MatchQueues::post(Receive &receive) {
    receive.order = next_order_++;
    receive.posted = true;
    ledger.posted();
    receives_from(receive.source).append(receive);
}

void MatchQueues::post_again(Receive &receive) {
    ReceiveChain &chain = receives_from(receive.source);
    ReceiveChain later;
    while (Receive *first = chain.first()) {
        if (first->order > receive.order) break;
        chain.remove(*first);
        later.append(*first);
    }
    receive.posted = true;
    ledger.posted();
    later.append(receive);
    while (Receive *first = chain.first()) {
        chain.remove(*first);
        later.append(*first);
    }
    chain = later;
}

void MatchQueues::unpost(Receive &receive) {
    receive.posted = false;
    ledger.unposted();
    receives_from(receive.source).remove(receive);
}

Receive *MatchQueues::take_posted(int source, int tag) {
    ReceiveChain *chain = nullptr;
    Receive *found = nullptr;
    if (static_cast<std::size_t>(source) < receives_.size()) [[likely]] {
        chain = &receives_[static_cast<std::size_t>(source)];
        found = chain->first();
        while (found && !tag_fits(found->tag, tag)) found = ReceiveChain::after(*found);
    }
    if (any_source_.first()) [[unlikely]] {
        Receive *other = any_source_.first();
        while (other && !tag_fits(other->tag, tag)) other = ReceiveChain::after(*other);
        if (other && (!found || other->order < found->order)) {
            found = other;
            chain = &any_source_;
        }
    }
    if (found) {
        chain->remove(*found);
        found->posted = false;
        ledger.unposted();
    }
    return found;
}

void MatchQueues::add(Unexpected &message) {
    auto index = static_cast<std::size_t>(message.source);
    if (index >= messages_.size()) messages_.resize(index + 1);
    message.order = next_order_++;
    message.queues = this;
    messages_[index].append(message);
    arrivals.append(message);
    message.ledger_entry = ledger.arrived(message.world_source, message.tag, context, message.bytes, message.transfer);
}

void MatchQueues::remove(Unexpected &message) {
    messages_[static_cast<std::size_t>(message.source)].remove(message);
    arrivals.remove(message);
    ledger.gone(message.ledger_entry);
}

Unexpected *MatchQueues::find(int source, int tag) const {
    if (!arrivals.first()) [[likely]]
        return nullptr;
    if (source == MPI_ANY_SOURCE) {
        for (Unexpected *message = arrivals.first(); message; message = message->all.next)
            if (tag_fits(tag, message->tag)) return message;
        return nullptr;
    }
    auto index = static_cast<std::size_t>(source);
    if (index >= messages_.size()) return nullptr;
    for (Unexpected *message = messages_[index].first(); message; message = message->same_source.next)
        if (tag_fits(tag, message->tag)) return message;
    return nullptr;
}

MatchQueues &queues_of_context(std::uint32_t context) {
    if (last_used && last_used->context == context) [[likely]]
        return *last_used;
    MatchQueues *&entry = contexts()[context];
    if (!entry) entry = new MatchQueues(context);
    last_used = entry;
    return *entry;
}

void drop_queues(std::uint32_t context) {
    auto found = contexts().find(context);
    if (found == contexts().end()) return;
    // Messages nobody received stay to be counted when the program ends.
    if (found->second->any_unexpected()) return;
    if (last_used == found->second) last_used = nullptr;
    delete found->second;
    contexts().erase(found);
}

void for_each_queue(const std::function<void(const MatchQueues &)> &visit) {
    for (auto &[context, queues] : contexts()) visit(*queues);
}

} // namespace volley
