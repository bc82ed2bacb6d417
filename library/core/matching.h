// SPDX-License-Identifier: BSD-3-Clause
/// Matching: receives that wait for messages, and messages that wait for receives, of one context.
///
/// Which of them belong together, MPI 5.0 §3.5 says: a message goes to the receive that was posted first among those
/// that could take it, and a receive takes the message that arrived first among those that match. (Messages of one
/// sender arrive in the order in which they were sent.) Wildcards change nothing in this.
///
/// Entries are in chains, each in order: one for each group of sources (those equal modulo `groups`), and one for
/// receives from any source, whose numbers say which of two receives was posted first. All messages are in a chain of
/// their own, too, for receives from any source.
///  - Most searches end at the first entry of a chain, which costs a comparison.
///  - Otherwise the chain is walked, but not far: `most_walked` entries.
///  - A search that would have to go on uses an index, hash tables from a source and a tag to the chain of those
///    entries, in order, that have them. The first search that needs it builds it from the queue; from then on it is
///    kept up to date, until the queue is short (`fewest_indexed`) again. A queue that is used in order has none,
///    however long it is.
///
/// Receives are in one table, by source and tag as they were posted: MPI_ANY_SOURCE and MPI_ANY_TAG are sources and
/// tags like others. A message may match the first entries of four chains (its source or any, its tag or any), and
/// takes the one posted first. Which kinds of receive there are is counted, and the others are not looked for.
///
/// Messages are found by source and tag, by source, or by tag: a table for each, built only for the kind of receive
/// that asks for it. (A receive from any source with any tag takes the first message of all.)
///
/// Cost: a search looks at no more than `most_walked` entries of a chain, or of two for a message, or besides the
/// first ones at one chain in a table, four for a message. To enter, to leave and to be posted again are a few steps.
/// Building an index takes the time of as many insertions as there are entries, all but `fewest_indexed` of which have
/// come since one was built last: on average every operation takes constant time. Memory: an entry carries its links; a
/// table has at most 192 bytes for each source and tag that wait (while it shrinks; at most 96 while it grows), or 1.5
/// KiB if that is more, and none while the queue is short; nothing grows with the size of a communicator.
///
/// Limits: while a table grows or shrinks, one operation waits for all its keys to be moved (up to 7 ms for 100,000).
/// Sources and tags that have the same hash are not defended against: whoever may choose them can make the searches of
/// its own job slow.
#pragma once

#include "core/chain.h"
#include "core/datatype/copy.h"
#include "core/point_to_point.h"
#include "transport/shm/rendezvous.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace volley {

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
    std::uint64_t order = 0;     ///< of being posted in this context
    Links<Receive> chained = {}; ///< to those of its group of sources, or from any source
    Links<Receive> same = {};    ///< to those with equal source and tag, in the index
};

/// A message that has arrived before its receive. Its payload is a copy, or still at the sender.
struct Unexpected {
    int source;
    int tag;
    Count bytes;
    unsigned char *payload = nullptr;              ///< malloc'ed copy of an eager message; nullptr if empty
    Rendezvous *rendezvous = nullptr;              ///< of an announced one
    bool by_tcp = false;                           ///< transport/tcp/ is told when it is received or dropped
    std::uint64_t tcp_number = 0;                  ///< its number there if it was announced by TCP, else 0
    int world_source = -1;                         ///< the sender's rank in the job
    int status_entry = -1;                         ///< core/introspection.h
    Links<Unexpected> all, chained;                ///< to all others, to those of its group of sources
    Links<Unexpected> same, same_source, same_tag; ///< in the indexes
    struct MatchQueues *queues;
    Communicator *communicator = nullptr; ///< of a matched probe: retained

    /// Its sender has taken it back.
    bool is_cancelled() const {
        return rendezvous && rendezvous->state.load(std::memory_order_acquire) == RendezvousState::cancelled;
    }
};

struct MatchQueues {
    /// Entries of a chain a search looks at before it uses an index. If entries of one source are asked for by their
    /// tags in random order, each takes (ns, to enter, to be found and to leave, one core of an AMD EPYC):
    ///     entries      8    12    16    20    24    32    64
    ///     walked      10    11    13    14    15    17    34
    ///     index       27    26    25    24    24    24    28
    /// In reverse order, which walks twice as far, the two are equal at 28; and here all is in the cache, which a walk
    /// needs more than an index does.
    static constexpr std::uint64_t most_walked = 16;
    /// A queue with this many entries, or fewer, needs no index any more. Half of those walked: a queue whose length
    /// goes up and down a little does not build and drop its index each time.
    static constexpr std::size_t fewest_indexed = most_walked / 2;
    /// Groups of sources, a power of two: 256 bytes for either queue of a context. A rank that waits for as many
    /// peers finds each at once, in any order.
    static constexpr std::size_t groups = 16;

    explicit MatchQueues(std::uint32_t context_number) : context(context_number) {}

    void post(Receive &receive);
    /// Puts a receive that take_posted() gave back where it was. Nothing may have been posted or taken since.
    void post_again(Receive &receive);
    void unpost(Receive &receive);
    /// The first posted receive that takes this message, no longer posted; nullptr if there is none.
    Receive *take_posted(int source, int tag);

    void add(Unexpected &message);
    void remove(Unexpected &message);
    /// The first message these wildcards match; it stays.
    Unexpected *find(int source, int tag);
    bool any_unexpected() const {
        return arrivals.first() != nullptr;
    }
    /// For tests: places in the tables.
    std::size_t index_capacity() const;

    const std::uint32_t context;
    Chain<Unexpected, &Unexpected::all> arrivals; ///< messages, in order of arrival

  private:
    using ReceiveChain = Chain<Receive, &Receive::chained>;
    using MessageChain = Chain<Unexpected, &Unexpected::chained>;
    template <class Chain> using Groups = std::array<Chain, groups>;

    template <class Chain> static Chain &of_source(Groups<Chain> &chains, int source) {
        return chains[static_cast<unsigned>(source) % groups];
    }

    /// Of messages; without items while nobody needs it.
    template <Links<Unexpected> Unexpected::*links> struct MessageIndex {
        ChainTable<Unexpected, links> table = {};
        bool any_source = false, any_tag = false; ///< what the receives that use it leave open

        void add(Unexpected &message);
        void remove(Unexpected &message);
        /// Walks along the chain, which has all that might match, before it uses (or makes) the table.
        template <Links<Unexpected> Unexpected::*chain_links>
        Unexpected *search(const Chain<Unexpected, chain_links> &chain, MatchQueues &queues, int source, int tag);
    };

    ReceiveChain &chain_of(const Receive &receive) {
        return receive.source == MPI_ANY_SOURCE ? from_any_source_ : of_source(receives_, receive.source);
    }
    void take_out(Receive &receive, ReceiveChain &chain);
    /// take_posted(), if the first receive of a chain is not the one or there are two chains with receives.
    Receive *search_and_take(int source, int tag);
    Receive *look_up_receive(int source, int tag, std::uint64_t &steps) const;
    void index_receives();
    void index_receives(const ReceiveChain &chain);
    void enter_index(Receive &receive);
    void leave_index(Receive &receive);
    void enter_indexes(Unexpected &message);
    void leave_indexes(Unexpected &message);
    Unexpected *search_messages(int source, int tag);

    // What every message and every receive looks at comes first, to be in one line or two.
    bool messages_indexed_ = false; ///< one of the indexes of messages is in use
    std::uint64_t next_order_ = 1;
    ReceiveChain from_any_source_;
    ChainTable<Receive, &Receive::same> receive_index_; ///< without items while nobody needs it
    Groups<ReceiveChain> receives_;
    Groups<MessageChain> messages_;

    std::array<std::size_t, 4> indexed_of_kind_{}; ///< receives in the index, by what they leave open
    MessageIndex<&Unexpected::same> by_both_;
    MessageIndex<&Unexpected::same_source> by_source_{.any_tag = true};
    MessageIndex<&Unexpected::same_tag> by_tag_{.any_source = true};
};

/// The queues of a context, made if need be: a message may arrive before its communicator exists here.
MatchQueues &queues_of_context(std::uint32_t context);
/// The same for communicators, which call drop_queues() when they go.
void drop_queues(std::uint32_t context);
/// For finalisation: visits all queues.
void for_each_queue(const std::function<void(const MatchQueues &)> &visit);

} // namespace volley
