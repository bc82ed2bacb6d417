// SPDX-License-Identifier: BSD-3-Clause
/// How the two ends of a connection between processes of different jobs on one host come to share memory. They have
/// proved who they are at a Unix socket; right behind that is said on it, each time with descriptors or without:
///
///     the sender     here is memory for this connection (transport/tcp/shared_stream.h), and my doorbell
///     the receiver   I have mapped both, and here is my doorbell
///     the sender     I have mapped that, too
///
/// Whoever cannot says so, and then the connection's frames go by the socket. Otherwise they go through the memory, and
/// the socket is there for nothing but its end.
#pragma once

#include "boot/descriptor.h"
#include "boot/proof/handshake_socket.h"
#include "transport/tcp/shared_stream.h"
#include "wait/doorbell.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>

namespace volley {

/// Whether both ends of a socket are on one host, so that descriptors can be handed over.
bool is_on_host(int socket);

class Handover {
  public:
    /// `is_sender`: of messages.
    Handover(Descriptor socket, bool is_sender) : socket_(std::move(socket)), is_sender_(is_sender) {}

    /// Goes on until the socket has to be ready again. proven: all is said.
    HandshakeState advance();

    [[nodiscard]] int descriptor() const {
        return socket_.get();
    }
    // Once all is said.
    [[nodiscard]] Descriptor take_socket() {
        return std::move(socket_);
    }
    /// nullptr: frames go by the socket.
    [[nodiscard]] std::unique_ptr<SharedStream> take_stream() {
        return std::move(stream_);
    }

  private:
    /// What is said each time.
    struct Word {
        std::uint64_t magic;
        std::uint64_t is_able;
    };
    using Handed = std::array<Descriptor, 2>;

    HandshakeState offer();
    HandshakeState answer();
    HandshakeState confirm();
    HandshakeState conclude();
    HandshakeState say(bool is_able, std::initializer_list<int> descriptors) const;
    HandshakeState hear(bool &is_able, Handed &handed) const;

    Descriptor socket_;
    const bool is_sender_;
    bool has_spoken_ = false;
    std::unique_ptr<SharedStream> stream_;
};

} // namespace volley
