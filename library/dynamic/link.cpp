// SPDX-License-Identifier: BSD-3-Clause
#include "dynamic/link.h"

#include "boot/sockets.h"
#include "core/engine.h"
#include "transport/tcp/tcp.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

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
    sockaddr_storage storage = {};
    socklen_t size = sizeof storage;
    NetworkAddress address = {};
    if (getsockname(socket_, reinterpret_cast<sockaddr *>(&storage), &size) != 0) return loopback_address();
    if (storage.ss_family == AF_INET) {
        address.family = AF_INET;
        std::memcpy(address.bytes, &reinterpret_cast<const sockaddr_in &>(storage).sin_addr, sizeof(in_addr));
    } else if (storage.ss_family == AF_INET6) {
        const auto &six = reinterpret_cast<const sockaddr_in6 &>(storage);
        address.family = AF_INET6;
        address.scope = six.sin6_scope_id;
        std::memcpy(address.bytes, &six.sin6_addr, sizeof(in6_addr));
    } else {
        return loopback_address();
    }
    return address;
}

} // namespace volley
