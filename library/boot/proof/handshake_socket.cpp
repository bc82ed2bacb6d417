// SPDX-License-Identifier: BSD-3-Clause
#include "boot/proof/handshake_socket.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace volley {
namespace {

/// Whether a call that has not done all shall be repeated when the socket is ready.
HandshakeState state_of_errno() {
    const bool waits = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN;
    return waits ? HandshakeState::going_on : HandshakeState::closed;
}

/// The parts of a handshake are so short that a new socket always takes them whole.
template <class Message> bool write_whole(int socket, const Message &message) {
    const ssize_t put = send(socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put >= 0 && put < static_cast<ssize_t>(sizeof message)) errno = ENOBUFS;
    return put == static_cast<ssize_t>(sizeof message);
}

} // namespace

template <class Message> bool Incomplete<Message>::read(int socket) {
    while (!is_complete()) {
        const ssize_t got = recv(socket, bytes_.data() + count_, bytes_.size() - count_, MSG_DONTWAIT);
        if (got == 0) errno = 0;
        if (got <= 0) return false;
        count_ += static_cast<std::size_t>(got);
    }
    return true;
}

HandshakeState InitiatorSocket::advance() {
    if (!has_begun_) {
        if (!write_whole(socket_.get(), initiator_.introduction())) return state_of_errno();
        has_begun_ = true;
    }
    if (!answer_.read(socket_.get())) return state_of_errno();
    const std::optional<Proof> proof = initiator_.prove(answer_.message());
    if (!proof) return HandshakeState::refused;
    return write_whole(socket_.get(), *proof) ? HandshakeState::proven : HandshakeState::closed;
}

/// Whoever says something else is refused at the first byte that differs.
HandshakeState ResponderSocket::answer(const FindSecret &find_secret) {
    const bool is_there = introduction_.read(socket_.get());
    const int reason = errno;
    const std::size_t begun = std::min(introduction_.count(), sizeof handshake_magic);
    if (std::memcmp(introduction_.bytes(), &handshake_magic, begun) != 0) return HandshakeState::refused;
    errno = reason;
    if (!is_there) return state_of_errno();
    const Introduction introduction = introduction_.message();
    const std::optional<Secret> secret = find_secret(introduction);
    if (!secret) return HandshakeState::refused;
    responder_.emplace(*secret, introduction);
    return write_whole(socket_.get(), responder_->answer()) ? HandshakeState::proven : HandshakeState::closed;
}

HandshakeState ResponderSocket::advance(const FindSecret &find_secret) {
    if (!responder_)
        if (const HandshakeState state = answer(find_secret); state != HandshakeState::proven) return state;
    if (!proof_.read(socket_.get())) return state_of_errno();
    return responder_->accepts(proof_.message()) ? HandshakeState::proven : HandshakeState::refused;
}

} // namespace volley
