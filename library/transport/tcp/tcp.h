// SPDX-License-Identifier: BSD-3-Clause
/// Messages by TCP. Every rank accepts connections at a port that its record names, at the addresses that the record of
/// its node names. It connects to each rank it sends to, with its first message to that rank (connection.h).
///
/// Anybody who reaches such an address can connect to the port. A connection begins with a handshake
/// (boot/proof/handshake.h), and nothing else is read before it is done. Whoever says something else is disconnected at
/// once, whoever says nothing after some seconds; only a few may be silent at a time. A rank that has introduced itself
/// may take its time: it may be computing.
///
/// Messages of one sender arrive in the order in which they were sent. Memory for what arrives before its receive is
/// bounded: what exceeds a sender's credit waits at the sender.
#pragma once

#include "boot/proof/handshake_socket.h"
#include "boot/sockets.h"
#include "layout/copy.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/grants.h"
#include "transport/tcp/wire.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace volley {

/// Where the ranks of a node take connections: the first of its addresses.
NetworkAddress address_of(std::int32_t node);

class Tcp {
  public:
    /// Accepts connections from now on: at sockets that the launcher has made and published, one for each address of
    /// the node, or at one of its own if there are none. Throws Error.
    void open(std::vector<Descriptor> listeners);
    /// Where processes of other jobs connect to this one, at that address of this host: the port. Throws Error.
    std::uint16_t listen_for_others(const NetworkAddress &address);
    /// The same for those on this host, to share memory with them: the number of the socket. Throws Error.
    std::uint32_t listen_on_this_host();
    /// No group has that process of another job any more: the connections with it end once nothing is under way, and
    /// then the process is forgotten.
    void part(ProcessIndex process);
    /// Watches a descriptor for a call that waits for it: what is ready ends the wait's sleep, and nothing else.
    /// Precondition: enabled().
    void watch(int descriptor, bool writable);
    /// The same for one that another transport looks after.
    void watch_elsewhere(int descriptor);
    void unwatch(int descriptor);
    bool enabled() const {
        return static_cast<bool>(listener_);
    }

    void start(Send &send);
    /// The send completes, cancelled or not, when its receiver has answered.
    void cancel(Send &send);
    /// A receive has been matched with the announced message of that number, and wants so many bytes of it.
    void fetch(Receive &receive, ProcessIndex sender, std::uint64_t number, Count wanted);
    /// An eager message of so many bytes has been received.
    void received(ProcessIndex sender, Count bytes);
    /// Nobody will receive the announced message.
    void drop(ProcessIndex sender, std::uint64_t number);

    // For jobs that outlive processes that fail (failure.cpp).
    /// The process has failed: ends what depends on it.
    void forget(ProcessIndex process);
    /// A connection to the process, on which something depends, has ended, for that reason. The launcher will say that
    /// the process has failed; if it does not in time, the job ends.
    void suspect(ProcessIndex process, std::string reason);
    /// As SharedMemory::end_sends.
    bool end_sends(const std::function<bool(const Send &)> &is_over, const std::function<int(const Send &)> &code_of);

    /// Tells a process that so many members of a communicator, whose context its node has drawn, have left it.
    void tell_departed(ProcessIndex process, std::uint32_t context, int members);

    /// Looks at all connections; if nothing has come lately, Look::active does so only now and then, since it is a
    /// system call. True if anything moved.
    bool progress(Look look);

    /// Of the connections of both directions.
    TcpStatistics statistics() const;

    /// The messages that the open connections with that process have carried.
    MessageCount sent_to(ProcessIndex process) const;
    MessageCount received_from(ProcessIndex process) const;

    /// The kernel has taken all that was sent.
    bool all_written() const;
    /// No send waits for its receiver.
    bool all_delivered() const;
    /// Says at all connections that this rank leaves, and waits until the kernels at their other ends have received all
    /// that was written. If this process ended with data unread, its kernel could drop what is still to be sent.
    void leave();

    /// The connection's bytes go through memory: it is served when the doorbell rings (wait/doorbell.h).
    void watch_stream(Connection &connection) {
        streams_.push_back(&connection);
    }
    void forget_stream(Connection &connection);

    Grants grants; ///< of this rank to those that send to it

    Tcp();

  private:
    friend struct TcpFuzz; // tests/library/fuzz

    /// A peer that has connected but has not proved who it is.
    struct Stranger {
        ResponderSocket socket;
        std::uint64_t since_ns;
        std::unique_ptr<Handover> handover = nullptr; ///< has the socket then
        bool is_lost = false;                         ///< it wants another rank of this job

        [[nodiscard]] int descriptor() const {
            return handover ? handover->descriptor() : socket.descriptor();
        }
    };

    /// A further socket: at another address of the node, or where processes of other jobs, or the relay of this host,
    /// connect.
    struct Listener {
        NetworkAddress address;
        std::uint16_t port;
        Descriptor socket;
    };

    struct Suspect {
        ProcessIndex process;
        std::string reason;
    };

    bool word_is_overdue();
    void listen_for_relay();
    bool watch_listener(const NetworkAddress &address, std::uint16_t port, Descriptor socket);
    Outgoing &to(ProcessIndex process);
    bool is_over(ProcessIndex process);
    bool serve_incoming(std::uint32_t sender);
    bool serve_ending(std::uint32_t number);
    void end(std::unique_ptr<Outgoing> connection);
    static void take_end(std::unique_ptr<Incoming> &connection);
    bool connect_waiting();
    bool handle(std::uint64_t key);
    bool accept(const Descriptor &listener);
    bool serve_streams();
    bool hear(int descriptor);
    static HandshakeState advance(Stranger &stranger);
    bool greet(Stranger &stranger);
    void make_room_for_stranger();
    void close_silent();
    void close(std::vector<Stranger>::iterator stranger);
    void report(const Stranger &stranger, const char *what);

    Descriptor listener_;
    /// Connections whose bytes go through memory; nullptr: it is gone. Connections that end are taken out, so this is
    /// here until all have ended.
    std::vector<Connection *> streams_;
    std::vector<std::unique_ptr<Outgoing>> outgoing_; ///< indexed by receiver
    std::vector<std::unique_ptr<Incoming>> incoming_; ///< indexed by sender
    std::vector<ProcessIndex> waiting_;               ///< receivers that do not accept connections yet
    std::vector<Stranger> strangers_;                 ///< in the order in which they came
    int reported_ = 0;                                ///< strangers that were refused
    std::vector<Listener> listeners_;                 ///< further ones
    std::uint32_t host_socket_ = 0;                   ///< number of one of them; 0: there is none
    std::vector<ProcessIndex> parting_;               ///< of other jobs
    std::vector<Suspect> suspects_;
    Descriptor word_timer_; ///< by when the launcher is to have said what has become of suspects
    std::unordered_map<std::uint32_t, std::unique_ptr<Outgoing>> ending_; ///< by a number
    std::uint32_t next_ending_ = 0;
    std::uint32_t idle_rounds_ = 0; ///< of progress since something was ready
};

extern Tcp tcp;

} // namespace volley
