// SPDX-License-Identifier: BSD-3-Clause
/// Matching: receives that wait for messages, and messages that wait for receives, of one context.
///
/// Both are kept by source, so that a long queue of one peer does not slow down the others; receives from any
/// source have a chain of their own. Numbers of arrival decide between two chains (MPI 5.0 §3.5: messages of one
/// sender are matched in order, and so are receives that could take the same message).
#pragma once

#include "core/datatype/copy.h"
#include "core/point_to_point.h"
#include "reach/transfer.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace volley {

/// A doubly linked chain through objects it does not own.
template <class Item> struct Links {
    Item *previous = nullptr, *next = nullptr;
};

template <class Item, Links<Item> Item::*links> class Chain {
  public:
    Item *first() const {
        return first_;
    }
    static Item *after(const Item &item) {
        return (item.*links).next;
    }
    void append(Item &item) {
        (item.*links) = {last_, nullptr};
        if (last_)
            (last_->*links).next = &item;
        else
            first_ = &item;
        last_ = &item;
    }
    void prepend(Item &item) {
        (item.*links) = {nullptr, first_};
        if (first_)
            (first_->*links).previous = &item;
        else
            last_ = &item;
        first_ = &item;
    }
    void remove(Item &item) {
        auto [previous, next] = item.*links;
        if (previous)
            (previous->*links).next = next;
        else
            first_ = next;
        if (next)
            (next->*links).previous = previous;
        else
            last_ = previous;
        (item.*links) = {};
    }

  private:
    Item *first_ = nullptr, *last_ = nullptr;
};

/// A receive that is posted, or being served. Lives on the stack of a blocking call or in a request.
struct Receive {
    int source; ///< rank of the peer in the communicator, or MPI_ANY_SOURCE
    int tag;    ///< or MPI_ANY_TAG
    TypedBuffer buffer;
    Count capacity;   ///< bytes of the buffer's data
    char *contiguous; ///< where the data begins if it is one block of memory, else nullptr
    Completion completion = {};
    Request *request = nullptr; ///< to be completed; nullptr for a blocking call
    bool posted = false;        ///< in the queues
    bool done = false;
    std::uint64_t order = 0;
    Links<Receive> links = {};
};

/// A message that has arrived before its receive. Its payload is a copy, or still at the sender.
struct Unexpected {
    int source;
    int tag;
    Count bytes;
    unsigned char *payload = nullptr; ///< malloc'ed copy of an eager message; nullptr if empty
    Transfer *transfer = nullptr;     ///< of an announced one
    std::uint64_t order = 0;          ///< of arrival in this context
    int world_source = -1;            ///< the sender's rank in the job
    int ledger_entry = -1;            ///< core/ledger.h
    Links<Unexpected> same_source, all;
    struct MatchQueues *queues;
    Communicator *communicator = nullptr; ///< of a matched probe: retained

    /// Its sender has taken it back.
    bool is_cancelled() const {
        return transfer && transfer->state.load(std::memory_order_acquire) == TransferState::cancelled;
    }
};

struct MatchQueues {
    explicit MatchQueues(std::uint32_t context_number) : context(context_number) {}

    void post(Receive &receive);
    /// Puts a receive that take_posted() gave back where it was.
    void post_again(Receive &receive);
    void unpost(Receive &receive);
    /// The first posted receive that takes this message, no longer posted; nullptr if there is none.
    Receive *take_posted(int source, int tag);

    void add(Unexpected &message);
    void remove(Unexpected &message);
    /// The first message these wildcards match; it stays.
    Unexpected *find(int source, int tag) const;
    bool any_unexpected() const {
        return arrivals.first() != nullptr;
    }

    const std::uint32_t context;
    Chain<Unexpected, &Unexpected::all> arrivals; ///< messages, in order of arrival

  private:
    using ReceiveChain = Chain<Receive, &Receive::links>;
    using MessageChain = Chain<Unexpected, &Unexpected::same_source>;

    ReceiveChain &receives_from(int source);

    ReceiveChain any_source_;
    std::vector<ReceiveChain> receives_;
    std::vector<MessageChain> messages_;
    std::uint64_t next_order_ = 1;
};

/// The queues of a context, made if need be: a message may arrive before its communicator exists here.
MatchQueues &queues_of_context(std::uint32_t context);
/// The same for communicators, which call drop_queues() when they go.
void drop_queues(std::uint32_t context);
/// For finalisation: visits all queues.
void for_each_queue(const std::function<void(const MatchQueues &)> &visit);

} // namespace volley
