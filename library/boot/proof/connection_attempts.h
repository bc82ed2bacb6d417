// SPDX-License-Identifier: BSD-3-Clause
/// Connecting to a process by whichever of its host's addresses leads to it.
///
/// The addresses are tried side by side, as RFC 8305 ("Happy Eyeballs") does: each attempt begins a little later than
/// the one before, or at once if that has failed. An attempt goes on through the handshake
/// (boot/proof/handshake.h). The first one whose other end proves to be who is wanted wins, and the others are closed
/// before they have proved anything, so that the other end hears of no second connection. Somebody else who answers at
/// one of the addresses, as another rank of the job where the address is one of this host, too, is no error as long as
/// there are others.
///
/// Whoever has closed a connection is asked again, up to 16 times: a receiver does so if it hears nothing of it for
/// some seconds, which the rank may have spent outside MPI, or if it has too many that have proved nothing.
#pragma once

#include "boot/descriptor.h"
#include "boot/job.h"
#include "boot/proof/handshake_socket.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace volley {

/// Where a process takes connections.
struct Place {
    NetworkAddress address;
    std::uint16_t port;
    std::uint32_t host_socket = 0; ///< on this host, and quicker (boot/foreign/host_socket.h); 0: there is none
};

/// That port at each address of a node, in the order in which they are to be tried.
std::vector<Place> places_at(const NodeRecord &node, std::uint16_t port);

class ConnectionAttempts {
  public:
    /// Watches a descriptor for those events (EPOLLIN, EPOLLOUT) in place of `before`, 0: not at all; false if the
    /// system has no room for it. Once one of them is ready, advance() is to be called.
    using Watch = std::function<bool(int descriptor, std::uint32_t before, std::uint32_t events)>;

    /// `preferred`, if there is one, is 1 + the place that has won before, which is tried first; 0: none has. Whichever
    /// wins is written there. Precondition: there is a place.
    ConnectionAttempts(std::vector<Place> places, std::atomic<std::uint32_t> *preferred, const Secret &secret,
                       const HandshakeEnds &ends, Watch watch);
    ~ConnectionAttempts();
    ConnectionAttempts(const ConnectionAttempts &) = delete;
    ConnectionAttempts &operator=(const ConnectionAttempts &) = delete;

    /// Goes on as far as possible. proven: take() gives the socket, which is not watched any more. closed: there is no
    /// way, and problem() says why.
    HandshakeState advance();
    [[nodiscard]] Descriptor take() {
        return std::move(winner_);
    }
    /// "cannot connect to 10.0.0.2 port 4711 from 10.0.0.1: Connection refused", and what has become of the others.
    [[nodiscard]] std::string problem() const;
    /// One of the places has not answered, or there is no way to it.
    [[nodiscard]] bool may_be_filtered() const {
        return may_be_filtered_;
    }

  private:
    using Clock = std::chrono::steady_clock;

    struct Attempt {
        std::size_t place;
        InitiatorSocket socket;
        std::uint32_t events = 0; ///< that it is watched for
    };
    /// What has become of a place.
    struct Outcome {
        int attempts = 0;
        std::string from = {}; ///< this end's address
        std::string reason = {};
    };

    bool advance_all();
    bool start_if_due();
    void start(std::size_t place);
    [[nodiscard]] bool is_due() const;
    [[nodiscard]] Clock::time_point due() const;
    bool watch(Attempt &attempt, std::uint32_t events);
    void win(Attempt &attempt);
    void failed(std::size_t place, HandshakeState state, int reason);
    void set_timer();
    void end_all();

    const std::vector<Place> places_;
    std::atomic<std::uint32_t> *preferred_;
    const Secret secret_;
    const HandshakeEnds ends_;
    const Watch watch_;
    std::size_t trusted_; ///< the place that has won before; places_.size(): none has
    std::vector<Outcome> outcomes_;
    std::deque<std::size_t> to_start_; ///< places
    std::vector<Attempt> attempts_;    ///< that are under way
    Clock::time_point started_ = {};   ///< the last of them
    bool is_next_at_once_ = false;     ///< one has failed, and the next has not been tried yet
    bool may_be_filtered_ = false;
    Descriptor timer_; ///< for the next one; made once it is needed
    Descriptor winner_;
};

} // namespace volley
