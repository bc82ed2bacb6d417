// SPDX-License-Identifier: BSD-3-Clause
#include "core/matching.h"

#include "core/introspection.h"

#include <cstdlib>
#include <unordered_map>

namespace volley {
namespace {

/// Whether a source and tag, either of which may be wanted by a wildcard, match.
bool fits(int wanted_source, int wanted_tag, int source, int tag) {
    return (wanted_source == source || wanted_source == MPI_ANY_SOURCE) &&
           (wanted_tag == tag || wanted_tag == MPI_ANY_TAG);
}

/// The wildcards of a receive, as bits.
constexpr unsigned any_source = 1, any_tag = 2;

unsigned kind_of(const Receive &receive) {
    return (receive.source == MPI_ANY_SOURCE ? any_source : 0) | (receive.tag == MPI_ANY_TAG ? any_tag : 0);
}

/// Where a walk along a chain ended.
template <class Item> struct Walk {
    Item *found = nullptr;
    bool cut = false; ///< the walk stopped before the end of the chain
};

/// Looks at up to `most` entries. Adds the number of those that do not fit to `steps`.
template <class Item, Links<Item> Item::*links, class Fits>
Walk<Item> walk(const Chain<Item, links> &chain, std::uint64_t most, std::uint64_t &steps, Fits &&fits) {
    Item *item = chain.first();
    for (std::uint64_t looked = 0; item; item = chain.after(*item), looked++) {
        if (looked == most) return {.cut = true};
        if (fits(*item)) return {.found = item};
        steps++;
    }
    return {};
}

/// The receive that was posted first; either may be nullptr.
Receive *earlier(Receive *one, Receive *other) {
    if (!one || !other) return one ? one : other;
    return one->order < other->order ? one : other;
}

std::unordered_map<std::uint32_t, MatchQueues *> &contexts() {
    static auto *map = new std::unordered_map<std::uint32_t, MatchQueues *>; // outlives static destructors
    return *map;
}

/// Most messages come in the same context as the message before.
MatchQueues *last_used = nullptr;

} // namespace

// Receives.

void MatchQueues::post(Receive &receive) {
    receive.order = next_order_++;
    receive.posted = true;
    introspection.posted();
    chain_of(receive).append(receive);
    if (receive_index_.size() > 0) [[unlikely]]
        enter_index(receive);
}

void MatchQueues::post_again(Receive &receive) {
    receive.posted = true;
    introspection.posted();
    chain_of(receive).put_back(receive);
    // The receive goes to the front: it was taken because it was the first with its source and tag.
    if (receive_index_.size() > 0) {
        receive_index_.prepend({receive.source, receive.tag}, receive);
        indexed_of_kind_[kind_of(receive)]++;
    }
}

std::vector<Receive *> MatchQueues::posted(const std::function<bool(const Receive &)> &chosen) const {
    std::vector<Receive *> found;
    auto look_through = [&](const ReceiveChain &chain) {
        for (Receive *receive = chain.first(); receive; receive = chain.after(*receive))
            if (chosen(*receive)) found.push_back(receive);
    };
    for (const ReceiveChain &chain : receives_) look_through(chain);
    look_through(from_any_source_);
    return found;
}

void MatchQueues::unpost(Receive &receive) {
    take_out(receive, chain_of(receive));
}

inline void MatchQueues::take_out(Receive &receive, ReceiveChain &chain) {
    receive.posted = false;
    introspection.unposted();
    chain.remove(receive);
    if (receive_index_.size() > 0) [[unlikely]]
        leave_index(receive);
}

Receive *MatchQueues::take_posted(int source, int tag) {
    ReceiveChain &chain = of_source(receives_, source);
    Receive *first = chain.first();
    if (from_any_source_.first() || (first && !fits(first->source, first->tag, source, tag))) [[unlikely]]
        return search_and_take(source, tag);
    if (first) [[likely]]
        take_out(*first, chain);
    return first;
}

Receive *MatchQueues::search_and_take(int source, int tag) {
    std::uint64_t steps = 0;
    const bool indexed = receive_index_.size() > 0;
    const std::uint64_t most = indexed ? 1 : most_walked;
    auto fit = [&](const Receive &receive) { return fits(receive.source, receive.tag, source, tag); };
    auto named = walk(of_source(receives_, source), most, steps, fit), any = walk(from_any_source_, most, steps, fit);
    Receive *found = earlier(named.found, any.found);
    if (named.cut || any.cut) {
        if (!indexed) index_receives();
        found = look_up_receive(source, tag, steps);
    }
    if (steps > 0) introspection.searched_posted(steps);
    if (found) take_out(*found, chain_of(*found));
    return found;
}

Receive *MatchQueues::look_up_receive(int source, int tag, std::uint64_t &steps) const {
    Receive *found = nullptr;
    for (unsigned kind = 0; kind < indexed_of_kind_.size(); kind++) {
        if (indexed_of_kind_[kind] == 0) continue;
        const int key_source = kind & any_source ? MPI_ANY_SOURCE : source;
        const int key_tag = kind & any_tag ? MPI_ANY_TAG : tag;
        found = earlier(found, receive_index_.first({key_source, key_tag}, steps));
    }
    return found;
}

void MatchQueues::index_receives() {
    indexed_of_kind_ = {};
    for (const ReceiveChain &chain : receives_) index_receives(chain);
    index_receives(from_any_source_);
}

void MatchQueues::index_receives(const ReceiveChain &chain) {
    for (Receive *receive = chain.first(); receive; receive = chain.after(*receive)) enter_index(*receive);
}

void MatchQueues::enter_index(Receive &receive) {
    receive_index_.append({receive.source, receive.tag}, receive);
    indexed_of_kind_[kind_of(receive)]++;
}

void MatchQueues::leave_index(Receive &receive) {
    receive_index_.remove({receive.source, receive.tag}, receive);
    indexed_of_kind_[kind_of(receive)]--;
    if (receive_index_.size() <= fewest_indexed) receive_index_.clear();
}

// Messages.

template <Links<Unexpected> Unexpected::*links> void MatchQueues::MessageIndex<links>::add(Unexpected &message) {
    table.append({any_source ? MPI_ANY_SOURCE : message.source, any_tag ? MPI_ANY_TAG : message.tag}, message);
}

template <Links<Unexpected> Unexpected::*links> void MatchQueues::MessageIndex<links>::remove(Unexpected &message) {
    table.remove({any_source ? MPI_ANY_SOURCE : message.source, any_tag ? MPI_ANY_TAG : message.tag}, message);
    if (table.size() <= fewest_indexed) table.clear();
}

template <Links<Unexpected> Unexpected::*links>
template <Links<Unexpected> Unexpected::*chain_links>
Unexpected *MatchQueues::MessageIndex<links>::search(const Chain<Unexpected, chain_links> &chain, MatchQueues &queues,
                                                     int source, int tag) {
    std::uint64_t steps = 0;
    Unexpected *found = nullptr;
    if (table.size() == 0) {
        auto walked = walk(chain, most_walked, steps,
                           [&](const Unexpected &message) { return fits(source, tag, message.source, message.tag); });
        found = walked.found;
        if (walked.cut) {
            for (Unexpected *message = queues.arrivals.first(); message; message = message->all.next) add(*message);
            queues.messages_indexed_ = true;
        }
    }
    if (table.size() > 0) found = table.first({source, tag}, steps);
    introspection.searched_unexpected(steps);
    return found;
}

void MatchQueues::add(Unexpected &message) {
    message.queues = this;
    of_source(messages_, message.source).append(message);
    arrivals.append(message);
    if (messages_indexed_) [[unlikely]]
        enter_indexes(message);
    message.status_entry = introspection.arrived(processes.rank_in_job(message.sender), message.tag, context,
                                                 message.bytes, message.is_at_sender());
}

void MatchQueues::remove(Unexpected &message) {
    of_source(messages_, message.source).remove(message);
    arrivals.remove(message);
    if (messages_indexed_) [[unlikely]]
        leave_indexes(message);
    introspection.gone(message.status_entry);
}

void MatchQueues::enter_indexes(Unexpected &message) {
    auto enter = [&](auto &index) {
        if (index.table.size() > 0) index.add(message);
    };
    enter(by_both_);
    enter(by_source_);
    enter(by_tag_);
}

void MatchQueues::leave_indexes(Unexpected &message) {
    messages_indexed_ = false;
    auto leave = [&](auto &index) {
        if (index.table.size() > 0) index.remove(message);
        messages_indexed_ |= index.table.size() > 0;
    };
    leave(by_both_);
    leave(by_source_);
    leave(by_tag_);
}

Unexpected *MatchQueues::find(int source, int tag) {
    Unexpected *first = arrivals.first();
    if (!first) [[likely]]
        return nullptr;
    if (source != MPI_ANY_SOURCE) first = of_source(messages_, source).first();
    if (!first || fits(source, tag, first->source, first->tag)) return first;
    return search_messages(source, tag);
}

Unexpected *MatchQueues::search_messages(int source, int tag) {
    // With MPI_ANY_SOURCE and MPI_ANY_TAG the first message of all matches, and find() has returned it.
    if (source == MPI_ANY_SOURCE) return by_tag_.search(arrivals, *this, source, tag);
    const MessageChain &chain = of_source(messages_, source);
    if (tag == MPI_ANY_TAG) return by_source_.search(chain, *this, source, tag);
    return by_both_.search(chain, *this, source, tag);
}

std::size_t MatchQueues::index_capacity() const {
    return receive_index_.capacity() + by_both_.table.capacity() + by_source_.table.capacity() +
           by_tag_.table.capacity();
}

MatchQueues &queues_of_context(std::uint32_t context) {
    if (last_used && last_used->context == context) [[likely]]
        return *last_used;
    MatchQueues *&entry = contexts()[context];
    if (!entry) entry = new MatchQueues(context);
    last_used = entry;
    return *entry;
}

Receive *match(const Arrival &arrival) {
    return queues_of_context(arrival.envelope.context).take_posted(arrival.envelope.source, arrival.envelope.tag);
}

void drop_queues(std::uint32_t context) {
    auto found = contexts().find(context);
    if (found == contexts().end()) return;
    // Messages that were never received stay, to be counted when the program ends.
    if (found->second->any_unexpected()) return;
    if (last_used == found->second) last_used = nullptr;
    delete found->second;
    contexts().erase(found);
}

void for_each_queue(const std::function<void(const MatchQueues &)> &visit) {
    for (auto &[context, queues] : contexts()) visit(*queues);
}

} // namespace volley
