// SPDX-License-Identifier: BSD-3-Clause
/// Who may send this rank the data of announced messages now, and how much of it.
///
/// Many senders at once fill the queue of this host's port at the switch. What does not fit is lost, and TCP repeats it
/// after 200 ms or more: an all-to-all on such a network falls by two orders of magnitude. So the receiver grants: a
/// few senders at a time, a piece each, one piece after the other, so that what is under way to it fits in the queue
/// of a switch with small buffers and still keeps the line busy. A piece is what the line carries in some 2 ms, as
/// measured while data came: large on a fast network. Those of long messages are up to four times as long: two flows
/// that last do not collapse. A sender that is the only one has more pieces under way.
///
/// A sender of which several messages in a row have been announced, while nobody else announced any, is *alone*: it
/// need not ask before longer messages, until another one does. So what comes unasked is of one sender, and bounded.
///
/// Senders take turns in the order of their distance below this rank. In an all-to-all, in which every rank does so,
/// each then sends to one and receives from one. A sender that does not answer does not hold up the others: after a
/// while its pieces no longer count (a timer, which wakes this rank if it sleeps).
#pragma once

#include "boot/descriptor.h"
#include "layout/checked.h"
#include "transport/process.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace volley {

struct Receive;

/// The data of an announced message that a receive has been matched with.
struct Fetch {
    Receive *receive;
    std::uint64_t id;
    Count wanted; ///< bytes, more than 0
    Count arrived = 0;
    Count granted = 0;
    Count placed = 0; ///< by libfabric: bytes that have a place to come to
};

/// One sender's part in this.
class GrantedSender {
  public:
    explicit GrantedSender(ProcessIndex process) : process_(process) {}

  protected:
    ~GrantedSender() = default;
    /// Tells the sender that it may send up to there.
    virtual void tell_granted(Fetch &fetch) = 0;
    /// Tells the sender that it is alone, or is so no longer.
    virtual void tell_alone(bool is_alone) = 0;

  private:
    friend class Grants;
    const ProcessIndex process_;
    std::deque<Fetch *> waiting_; ///< not all of these is granted
    Count under_way_ = 0;         ///< bytes granted that have not arrived
    bool is_listed_ = false;
    bool is_overdue_ = false; ///< what is under way does not count
};

/// How fast data comes, as far as this tells how long a piece may be.
class PieceLength {
  public:
    /// Of a network of 100 Mbit/s, until more is known.
    static constexpr Count first = 20 << 10;
    /// Several ranks of a host each see a part of its line.
    static constexpr Count least = 10 << 10;
    static constexpr Count most = 1 << 20;

    Count bytes() const {
        return bytes_;
    }
    /// Something is under way from now on.
    void begin(std::uint64_t now_ns) {
        since_ns_ = now_ns;
    }
    /// So many bytes have come.
    void count(Count bytes, std::uint64_t now_ns);

  private:
    Count bytes_ = first;
    std::uint64_t since_ns_ = 0;  ///< the time from here on has not been added to waited_ns_
    std::uint64_t waited_ns_ = 0; ///< for what is counted
    Count counted_ = 0;
};

class Grants {
  public:
    /// The timer's descriptor is watched with this key.
    explicit Grants(std::uint64_t key) : key_(key) {}

    /// A receive has been matched. `fetch` stays where it is until all of it has arrived.
    void add(GrantedSender &sender, Fetch &fetch);
    /// So many bytes have come from that sender.
    void arrived(GrantedSender &sender, Count bytes);
    /// What was granted of that and has not come will not come.
    void withdrawn(GrantedSender &sender, Fetch &fetch);
    /// That sender goes.
    void forget(GrantedSender &sender);
    /// The timer has ended. True if anything was granted.
    bool timer_ended();

  private:
    void came(GrantedSender &sender, Count bytes);
    void share_out();
    void notice(GrantedSender &sender);
    Count piece_of(const Fetch &fetch) const;
    GrantedSender *next() const;
    void grant(GrantedSender &sender, Count most);
    void set_timer();

    const std::uint64_t key_;
    std::vector<GrantedSender *> listed_; ///< something of theirs waits or is under way
    Count under_way_ = 0;                 ///< of all that are not overdue
    PieceLength piece_;
    GrantedSender *alone_ = nullptr;  ///< that has been told so
    GrantedSender *latest_ = nullptr; ///< that has announced a message
    int in_a_row_ = 0;                ///< messages of that sender
    ProcessIndex last_ = -1;          ///< the sender that has begun last
    bool sharing_out_ = false;
    bool something_came_ = false; ///< since the timer was set
    bool timer_is_set_ = false;
    Descriptor timer_;
};

} // namespace volley
