// SPDX-License-Identifier: BSD-3-Clause
/// Matching: the posted receives and the unexpected messages of one context.
///
/// MPI 5.0 §3.5 says which of them belong together: a message goes to the receive that was posted first among those
/// that could take it, and a receive takes the message that arrived first among those that match. (Messages of one
/// sender arrive in the order in which they were sent.) Wildcards change nothing in this.
///
/// Entries are in chains, each in order: one for each group of sources (those equal modulo `groups`), and one for
/// receives from any source. Receives carry numbers that say which of two was posted first. All messages are also in a
/// chain of their own, for receives from any source.
///  - Most searches end at the first entry of a chain, which costs a comparison.
///  - Otherwise the search walks along the chain, but only for `most_walked` entries.
///  - A search that would have to go on uses an index: hash tables from a source and a tag to the chain, in order, of
///    the entries that have them. The first search that needs the index builds it from the queue. The index is then
///    kept up to date until the queue is short (`fewest_indexed`) again. A queue that is used in order needs no index,
///    however long it is.
///
/// One table holds the receives, by source and tag as they were posted: MPI_ANY_SOURCE and MPI_ANY_TAG are sources and
/// tags like others. A message may match the first entries of four chains (its source or any, its tag or any), and
/// takes the one posted first. The receives of each of these four kinds are counted, and a search leaves out kinds of
/// which there are none.
///
/// Messages are found by source and tag, by source, or by tag. Each of the three has a table, built only when a receive
/// of that kind asks for it. (A receive from any source with any tag takes the first message of all.)
///
/// Cost: the search of a receive looks at no more than `most_walked` entries of one chain, that of a message at as many
/// of two chains. With an index, it looks at the first entries and at one chain in a table, or four for a message.
/// Entering, leaving and being posted again take a few steps. Building an index takes as many insertions as there are
/// entries, all but `fewest_indexed` of which have come since an index was built last: on average every operation takes
/// constant time. Memory: an entry carries its links. A table has at most 192 bytes for each source and tag that wait
/// (while it shrinks; at most 96 while it grows), or 1.5 KiB if that is more, and none while the queue is short.
/// Nothing grows with the size of a communicator.
///
/// Limits: while a table grows or shrinks, one operation waits for all its keys to be moved (up to 7 ms for 100,000).
/// There is no defence against sources and tags that have the same hash: whoever chooses them can make the searches of
/// its own job slow.
#pragma once

#include "transport/message.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace volley {

struct MatchQueues {
    /// A search looks at this many entries of a chain before it uses an index. Measured for entries of one source that
    /// are asked for by their tags in random order (ns to enter, find and remove one; one core of an AMD EPYC):
    ///     entries      8    12    16    20    24    32    64
    ///     walked      10    11    13    14    15    17    34
    ///     index       27    26    25    24    24    24    28
    /// In reverse order, where a walk goes twice as far, the two are equal at 28. These times are with all entries in
    /// the cache, on which a walk depends more than an index does.
    static constexpr std::uint64_t most_walked = 16;
    /// A queue with this many entries or fewer drops its index. This is half of `most_walked`, so that a queue whose
    /// length goes up and down a little does not build and drop its index each time.
    static constexpr std::size_t fewest_indexed = most_walked / 2;
    /// Groups of sources, a power of two: 256 bytes for either queue of a context. A rank that waits for this many
    /// peers finds each at once, in any order.
    static constexpr std::size_t groups = 16;

    explicit MatchQueues(std::uint32_t context_number) : context(context_number) {}

    void post(Receive &receive);
    /// Puts a receive back where take_posted() found it. Nothing may have been posted or taken since.
    void post_again(Receive &receive);
    void unpost(Receive &receive);
    /// The posted receives for which that holds.
    std::vector<Receive *> posted(const std::function<bool(const Receive &)> &chosen) const;
    /// Removes and returns the first posted receive that matches such a message; nullptr if there is none.
    Receive *take_posted(int source, int tag);

    void add(Unexpected &message);
    void remove(Unexpected &message);
    /// The first message that matches this source and tag, which may be wildcards. The message stays in the queue.
    Unexpected *find(int source, int tag);
    bool any_unexpected() const {
        return arrivals.first() != nullptr;
    }
    /// For tests: the number of places in all tables.
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

    /// An index of messages; empty while no search needs it.
    template <Links<Unexpected> Unexpected::*links> struct MessageIndex {
        ChainTable<Unexpected, links> table = {};
        bool any_source = false, any_tag = false; ///< what the receives that use this index leave open

        void add(Unexpected &message);
        void remove(Unexpected &message);
        /// Walks along the chain, which has all messages that might match, before it uses (or builds) the table.
        template <Links<Unexpected> Unexpected::*chain_links>
        Unexpected *search(const Chain<Unexpected, chain_links> &chain, MatchQueues &queues, int source, int tag);
    };

    ReceiveChain &chain_of(const Receive &receive) {
        return receive.source == MPI_ANY_SOURCE ? from_any_source_ : of_source(receives_, receive.source);
    }
    void take_out(Receive &receive, ReceiveChain &chain);
    /// take_posted() where the first receive of the source's chain does not match, or where there are receives from any
    /// source as well.
    Receive *search_and_take(int source, int tag);
    Receive *look_up_receive(int source, int tag, std::uint64_t &steps) const;
    void index_receives();
    void index_receives(const ReceiveChain &chain);
    void enter_index(Receive &receive);
    void leave_index(Receive &receive);
    void enter_indexes(Unexpected &message);
    void leave_indexes(Unexpected &message);
    Unexpected *search_messages(int source, int tag);

    // The fields that every message and every receive looks at come first, so that they share one or two cache lines.
    bool messages_indexed_ = false; ///< one of the indexes of messages is in use
    std::uint64_t next_order_ = 1;
    ReceiveChain from_any_source_;
    ChainTable<Receive, &Receive::same> receive_index_; ///< empty while no search needs it
    Groups<ReceiveChain> receives_;
    Groups<MessageChain> messages_;

    std::array<std::size_t, 4> indexed_of_kind_{}; ///< receives in the index, by what they leave open
    MessageIndex<&Unexpected::same> by_both_;
    MessageIndex<&Unexpected::same_source> by_source_{.any_tag = true};
    MessageIndex<&Unexpected::same_tag> by_tag_{.any_source = true};
};

/// The queues of a context, made if need be: a message may arrive before its communicator exists here.
MatchQueues &queues_of_context(std::uint32_t context);
/// Destroys the queues of a context unless messages are left in them. Communicators call it when they are destroyed.
void drop_queues(std::uint32_t context);
/// For finalisation: visits all queues.
void for_each_queue(const std::function<void(const MatchQueues &)> &visit);

} // namespace volley
