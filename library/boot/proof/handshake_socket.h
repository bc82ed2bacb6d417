// SPDX-License-Identifier: BSD-3-Clause
/// The handshake of a connection (boot/proof/handshake.h) at a socket that never blocks. Each end goes on with it when
/// its socket is ready. Not a byte is read beyond the handshake.
#pragma once

#include "boot/descriptor.h"
#include "boot/proof/handshake.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>

namespace volley {

enum class HandshakeState {
    going_on, ///< until the socket is ready again
    proven,   ///< take() gives the socket
    closed,   ///< the other end has closed it, or the connection has failed; errno says why, 0: it was closed
    refused,  ///< the other end does not know the secret, or says something else
};

/// What has come of a part of the handshake.
template <class Message> class Incomplete {
  public:
    /// Reads what has come. True once all is there; false, with errno set (0: the end), if not.
    bool read(int socket);
    [[nodiscard]] const unsigned char *bytes() const {
        return bytes_.data();
    }
    [[nodiscard]] std::size_t count() const {
        return count_;
    }
    [[nodiscard]] bool is_complete() const {
        return count_ == sizeof(Message);
    }
    [[nodiscard]] Message message() const {
        Message message;
        std::memcpy(&message, bytes_.data(), sizeof message);
        return message;
    }

  private:
    std::array<unsigned char, sizeof(Message)> bytes_;
    std::size_t count_ = 0;
};

class InitiatorSocket {
  public:
    /// The socket may still be connecting.
    InitiatorSocket(Descriptor socket, const Secret &secret, const HandshakeEnds &ends)
        : socket_(std::move(socket)), initiator_(secret, ends) {}

    HandshakeState advance();
    /// It waits until the socket can be written, rather than read.
    [[nodiscard]] bool is_connecting() const {
        return !has_begun_;
    }
    /// Precondition: proven.
    [[nodiscard]] SessionKeys session_keys() const {
        return initiator_.session_keys(answer_.message());
    }
    [[nodiscard]] int descriptor() const {
        return socket_.get();
    }
    [[nodiscard]] Descriptor take() {
        return std::move(socket_);
    }

  private:
    Descriptor socket_;
    Initiator initiator_;
    bool has_begun_ = false;
    Incomplete<Answer> answer_;
};

class ResponderSocket {
  public:
    /// Finds the secret that is asked for. Nothing: whoever introduces himself so is not wanted.
    using FindSecret = std::function<std::optional<Secret>(const Introduction &)>;

    explicit ResponderSocket(Descriptor socket) : socket_(std::move(socket)) {}

    HandshakeState advance(const FindSecret &find_secret);
    /// The other end has named a secret that is known here.
    [[nodiscard]] bool is_answered() const {
        return responder_.has_value();
    }
    /// Precondition: is_answered().
    [[nodiscard]] HandshakeEnds ends() const {
        return introduction_.message().ends;
    }
    /// Precondition: proven.
    [[nodiscard]] SessionKeys session_keys() const {
        return responder_->session_keys();
    }
    [[nodiscard]] int descriptor() const {
        return socket_.get();
    }
    [[nodiscard]] Descriptor take() {
        return std::move(socket_);
    }

  private:
    HandshakeState answer(const FindSecret &find_secret);

    Descriptor socket_;
    Incomplete<Introduction> introduction_;
    std::optional<Responder> responder_;
    Incomplete<Proof> proof_;
};

} // namespace volley
