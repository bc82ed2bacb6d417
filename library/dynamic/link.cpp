// SPDX-License-Identifier: BSD-3-Clause
#include "dynamic/link.h"

#include "boot/error.h"
#include "boot/sockets.h"
#include "core/engine.h"
#include "transport/tcp/tcp.h"

#include <sys/socket.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <optional>

namespace volley {

Watch::Watch(int descriptor, bool writable) : descriptor_(descriptor) {
    tcp.watch(descriptor, writable);
}

Watch::~Watch() {
    tcp.unwatch(descriptor_);
}

Deadline::Deadline(std::chrono::seconds from_now)
    : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
    itimerspec time = {};
    time.it_value.tv_sec = from_now.count();
    if (!timer_ || timerfd_settime(timer_.get(), 0, &time, nullptr) != 0) throw system_error("cannot have a timer");
}

bool Deadline::has_passed() const {
    itimerspec left = {};
    return timerfd_gettime(timer_.get(), &left) == 0 && left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0;
}

/// Repeats a call that moves some bytes, as long as it would block. False on an error, or at the end of the stream.
template <class Move> bool Link::move_all(bool writes, std::size_t count, Move &&move) {
    const Watch watch(socket_, writes);
    std::optional<Watch> timer;
    if (deadline_) timer.emplace(deadline_->descriptor());
    std::size_t moved = 0;
    bool failed = false;
    engine.wait_until([&] {
        while (moved < count && !failed) {
            ssize_t some = move(moved);
            if (some < 0 && errno == EINTR) continue;
            if (some < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN)) {
                if (!deadline_ || !deadline_->has_passed()) return false;
                errno = ETIMEDOUT;
            }
            failed = some <= 0;
            if (!failed) moved += static_cast<std::size_t>(some);
        }
        return true;
    });
    return !failed;
}

bool Link::write(const void *bytes, std::size_t count) {
    return move_all(true, count, [&](std::size_t done) {
        return send(socket_, static_cast<const char *>(bytes) + done, count - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    });
}

bool Link::read(void *bytes, std::size_t count) {
    return move_all(false, count, [&](std::size_t done) {
        return recv(socket_, static_cast<char *>(bytes) + done, count - done, MSG_DONTWAIT);
    });
}

NetworkAddress Link::own_address() const {
    return own_address_of(socket_).value_or(loopback_address());
}

} // namespace volley
