// SPDX-License-Identifier: BSD-3-Clause
#include "dynamic/link.h"

#include "boot/sockets.h"
#include "core/engine.h"
#include "transport/tcp/tcp.h"

#include <sys/socket.h>

#include <cerrno>

namespace volley {

Watch::Watch(int descriptor, bool writable) : descriptor_(descriptor) {
    tcp.watch(descriptor, writable);
}

Watch::~Watch() {
    tcp.unwatch(descriptor_);
}

namespace {

/// Repeats a call that moves some bytes, as long as it would block. False on an error, or at the end of the stream.
template <class Move> bool move_all(int socket, bool writes, std::size_t count, Move &&move) {
    const Watch watch(socket, writes);
    std::size_t moved = 0;
    bool failed = false;
    engine.wait_until([&] {
        while (moved < count && !failed) {
            ssize_t some = move(moved);
            if (some < 0 && errno == EINTR) continue;
            if (some < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN)) return false;
            failed = some <= 0;
            if (!failed) moved += static_cast<std::size_t>(some);
        }
        return true;
    });
    return !failed;
}

} // namespace

bool Link::write(const void *bytes, std::size_t count) {
    return move_all(socket_, true, count, [&](std::size_t done) {
        return send(socket_, static_cast<const char *>(bytes) + done, count - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    });
}

bool Link::read(void *bytes, std::size_t count) {
    return move_all(socket_, false, count, [&](std::size_t done) {
        return recv(socket_, static_cast<char *>(bytes) + done, count - done, MSG_DONTWAIT);
    });
}

NetworkAddress Link::own_address() const {
    return own_address_of(socket_).value_or(loopback_address());
}

} // namespace volley
