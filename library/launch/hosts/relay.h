// SPDX-License-Identifier: BSD-3-Clause
/// What carries the messages of `--transport daemon` on one host, as LAM's daemons did (mode "lamd"): a process beside
/// the node daemon, or beside mpiexec where all ranks are on one host. So messages move while programs compute.
///
/// A rank connects to the relay of its own host in place of the other rank, and speaks as it would speak to that
/// (transport/tcp/wire.h). The relay connects onward: to the relay of the other rank's host or, if it is that one, to
/// the rank; and from then on passes on bytes, and ends, in both directions (flow.h). What it carries it does not
/// understand.
///
/// The handshake (boot/proof/handshake.h) is made on each of the up to three parts of the way, in the names of the two
/// ranks: it says whither, nobody gets through who does not know the job's secret, and the sender need not wait until
/// the receiver's program comes into MPI, as it would if the two had to prove themselves to each other.
///
/// There is one connection for each pair of ranks and direction of messages, all along the way. If all of two hosts
/// shared one, a receiver that computes would hold up messages to its neighbours, unless the relays had credits of
/// their own; so TCP's are enough. It takes two sockets of a relay for each pair that talks.
///
/// It is a process of its own so that nothing else that the launcher does delays messages, and since ranks that share
/// an address space are cloned from a launcher that may have no threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "boot/arena.h"
#include "boot/descriptor.h"
#include "boot/proof/connection_attempts.h"
#include "launch/clock.h"
#include "launch/hosts/flow.h"

namespace volley::launch {

/// What a relay says to its launcher: a text for the user, or why it ends, after a letter that tells which.
enum class RelayWord : char { note = 'n', reason = 'r' };
void say_to_launcher(const Descriptor &launcher, RelayWord word, const std::string &text);

class Relay {
  public:
    /// Takes connections at `listeners` and, of ranks of this host, at `local`. The other end of `orders` is the
    /// launcher's (relay_process.h). Throws Error.
    Relay(const Arena &arena, std::vector<Descriptor> listeners, Descriptor local, const Descriptor &orders);

    /// Until the launcher says that all ranks of this host have ended, and what they have sent has been received by the
    /// kernels of other hosts. Throws Error if messages cannot be carried.
    void run();

  private:
    /// Somebody who has connected, and has not proven yet who he is.
    struct Stranger {
        ResponderSocket socket;
        Clock::time_point until;
    };
    /// A socket, and what it is watched for.
    struct End {
        Descriptor socket = {};
        std::uint32_t events = 0;
    };
    /// Where a message for a rank goes next.
    struct Hop {
        std::vector<Place> places;
        bool is_relay;
        std::int32_t node;
    };
    struct Connection {
        HandshakeEnds ends;
        Hop hop;
        End near, far = {}; ///< towards the sender of messages, and towards their receiver
        std::unique_ptr<ConnectionAttempts> attempts = nullptr; ///< to reach the far end, while they are under way
        Flow forth = {}, back = {};
    };
    enum class Ready : std::uint32_t { listener, local, orders, stranger, near, far };

    using Strangers = std::map<std::uint32_t, Stranger>;

    static std::uint64_t key_of(Ready kind, std::uint32_t number);
    void take(std::uint64_t key, std::uint32_t events);
    void accept(const Descriptor &listener);
    void hear(std::uint32_t number);
    void make_room_for_stranger();
    void close_silent();
    [[nodiscard]] Strangers::const_iterator first_silent() const;
    [[nodiscard]] int timeout_ms() const;
    [[nodiscard]] std::optional<Secret> secret_for(const Introduction &introduction) const;
    [[nodiscard]] bool is_wanted(const HandshakeEnds &ends) const;
    [[nodiscard]] bool is_here(int rank) const;
    [[nodiscard]] Hop next_hop(int rank) const;
    [[nodiscard]] bool is_own(const Place &place) const;
    [[nodiscard]] bool has_lost_its_way(const Introduction &introduction) const;
    [[nodiscard]] bool connect(Connection &connection, std::uint32_t number);
    [[nodiscard]] bool shake_hands(Connection &connection) const;
    [[nodiscard]] bool failed(const Hop &hop, const std::string &reason) const;
    [[nodiscard]] bool serve(Connection &connection, Ready side, std::uint32_t events);
    void watch(Connection &connection, std::uint32_t number);
    void watch(int socket, End &end, std::uint32_t events, std::uint64_t key) const;
    void finish();
    [[nodiscard]] bool is_finished(Connection &connection);
    void note(const std::string &text);

    const Arena &arena_;
    std::vector<Descriptor> listeners_;
    Descriptor local_;
    const Descriptor &orders_;
    Descriptor ready_;
    Secret secret_;
    std::vector<char> scratch_;
    std::uint32_t next_ = 0; ///< number of a stranger, and of the connection that it becomes
    Strangers strangers_;    ///< in the order of their coming
    std::unordered_map<std::uint32_t, Connection> connections_;
    bool is_finishing_ = false; ///< all ranks of this host have ended
    int noted_ = 0;
};

} // namespace volley::launch
