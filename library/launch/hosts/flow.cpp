// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/flow.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace volley::launch {
namespace {

bool is_for_later(int error) {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

} // namespace

bool Flow::read(int source, int destination, std::span<char> scratch) {
    if (!wants_to_read()) return false;
    const ssize_t got = recv(source, scratch.data(), std::min(scratch.size(), most_kept - pending()), MSG_DONTWAIT);
    if (got < 0 && is_for_later(errno)) return false;
    if (got <= 0) { // however it ended: the other rank sees that the connection is closed
        has_ended_ = true;
        tell_end(destination);
        return true;
    }
    std::span<const char> bytes = scratch.first(static_cast<std::size_t>(got));
    if (pending() == 0 && destination >= 0) bytes = bytes.subspan(put(destination, bytes));
    if (!is_broken_) keep(bytes);
    return true;
}

void Flow::write(int destination) {
    written_ += put(destination, std::span<const char>(kept_).subspan(written_));
    if (is_broken_ || pending() == 0) {
        kept_ = {};
        written_ = 0;
    }
    tell_end(destination);
}

/// As many bytes as the destination takes.
std::size_t Flow::put(int destination, std::span<const char> bytes) {
    std::size_t taken = 0;
    while (taken < bytes.size() && !is_broken_) {
        const ssize_t put = send(destination, bytes.data() + taken, bytes.size() - taken, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put >= 0)
            taken += static_cast<std::size_t>(put);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            break;
        else if (errno != EINTR)
            is_broken_ = true;
    }
    return taken;
}

/// Bytes that have been written are removed once they are half of all, so that each byte is moved once at most.
void Flow::keep(std::span<const char> bytes) {
    if (written_ > kept_.size() / 2) {
        kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(written_));
        written_ = 0;
    }
    kept_.insert(kept_.end(), bytes.begin(), bytes.end());
}

void Flow::tell_end(int destination) {
    if (!has_ended_ || pending() > 0 || is_told_ || destination < 0) return;
    if (!is_broken_) shutdown(destination, SHUT_WR);
    is_told_ = true;
}

} // namespace volley::launch
