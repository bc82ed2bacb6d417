// SPDX-License-Identifier: BSD-3-Clause
/// The longer of the frames between mpiexec and its node daemons (channel.h).
///
/// Both ends are the same build of the same program, which the first of them checks. So numbers are in the byte order
/// of the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "boot/addresses.h"
#include "boot/job.h"
#include "boot/sockets.h"
#include "launch/hosts/booted_set.h"

namespace volley::launch {

/// What a node daemon says before its first frame. The number is that of this protocol.
inline constexpr const char *greeting = "\nVolley node daemon 2\n";

/// What a node daemon is and where it runs.
struct HelloMessage {
    std::string version; ///< of Volley
    std::string machine; ///< as `uname -m`
    std::string host;    ///< as `uname -n`
    std::vector<HostAddress> addresses;

    [[nodiscard]] std::string encode() const;
    /// Throws Error if the text makes no sense; so do all others.
    static HelloMessage decode(const std::string &text);
};

/// What the daemon of one node is to run.
struct JobMessage {
    std::vector<std::string> arguments; ///< of mpiexec
    std::vector<std::string> environment;
    std::string directory;
    std::string job;
    std::string secret;
    std::vector<std::int32_t> node_of;     ///< by rank
    std::vector<std::string> hosts;        ///< by node, as the user has named them
    std::int32_t node;                     ///< of the daemon
    std::vector<NetworkAddress> addresses; ///< where its ranks shall take connections
    std::int32_t person;                   ///< not 0: somebody may be reading what ranks write
    std::int32_t beats;                    ///< not 0: both ends say now and then that they are there
    std::vector<std::int32_t> ranks;       ///< of each program
    NetworkAddress asked_at;               ///< where mpiexec listens for who has not heard of it (silence.h)
    std::uint16_t port;                    ///< and at which port; 0: nowhere

    [[nodiscard]] std::string encode() const;
    static JobMessage decode(const std::string &text);
};

/// What a resident daemon (resident_daemon.h) needs to be reached.
struct BootMessage {
    std::string directory; ///< of its files
    std::string secret;
    NetworkAddress address; ///< where it shall listen
    PortRange ports;        ///< at one of these

    [[nodiscard]] std::string encode() const;
    static BootMessage decode(const std::string &text);
};

/// Where the ranks of one node take connections, in their order, and its relay (relay.h); 0: it has none.
struct PortsMessage {
    std::vector<std::uint32_t> ports;
    std::uint32_t relay = 0;

    [[nodiscard]] std::string encode() const;
    static PortsMessage decode(const std::string &text);
};

struct StartMessage {
    std::vector<std::vector<HostAddress>> addresses; ///< by node; empty if there is one
    std::vector<std::uint32_t> ports;                ///< by rank
    std::vector<std::uint32_t> relays;               ///< by node

    [[nodiscard]] std::string encode() const;
    static StartMessage decode(const std::string &text);
};

/// Why the job ends.
struct FailedMessage {
    std::int32_t rank; ///< that is named to those that end for it
    std::string why;   ///< in words; empty: the user knows

    [[nodiscard]] std::string encode() const;
    static FailedMessage decode(const std::string &text);
};

/// Ranks to which the same has happened.
struct RanksMessage {
    std::vector<std::uint32_t> ranks;
    std::int32_t status = 0; ///< what mpiexec's would be, if no others had survived

    [[nodiscard]] std::string encode() const;
    static RanksMessage decode(const std::string &text);
};

/// What a resident daemon says of itself.
struct DescriptionMessage {
    std::string version;
    std::int32_t process;
    std::int32_t jobs;     ///< that run
    std::int64_t began_at; ///< seconds since 1970

    [[nodiscard]] std::string encode() const;
    static DescriptionMessage decode(const std::string &text);
};

/// The whole set, also in its file (booted_set.h).
std::string encode(const BootedSet &set);
BootedSet decode_booted_set(const std::string &text);

} // namespace volley::launch
