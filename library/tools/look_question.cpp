// SPDX-License-Identifier: BSD-3-Clause
#include "tools/look_question.h"

#include "boot/foreign/host_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace volley::view {

LookQuestion::LookQuestion(const ArenaHead &arena, uid_t owner) {
    const std::uint32_t number = arena.look_socket.load(std::memory_order_relaxed);
    if (number == 0) return;
    Descriptor connection = connect_on_host_of(number, owner);
    LookRequest request = {};
    std::memcpy(request.secret, arena.secret, sizeof request.secret);
    request.node = arena.node;
    if (connection && write_all(connection, &request, sizeof request)) socket_ = std::move(connection);
}

bool LookQuestion::read(void *to, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until_ - std::chrono::steady_clock::now()).count();
        pollfd watched = {socket_.get(), POLLIN, 0};
        const int ready = left > 0 ? poll(&watched, 1, static_cast<int>(left)) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            refused_ = false; // somebody has taken the question
            return false;
        }
        const ssize_t got = recv(socket_.get(), static_cast<char *>(to) + done, bytes - done, 0);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got <= 0) return false;
        done += static_cast<std::size_t>(got);
    }
    refused_ = false;
    return true;
}

std::optional<LookQuestion::Part> LookQuestion::next() {
    LookPart part = {};
    if (!socket_ || complete_ || !read(&part, sizeof part)) return std::nullopt;
    complete_ = part.node < 0;
    if (complete_ || part.bytes > longest_look_bytes) return std::nullopt;
    Part result{part.node, std::string(part.bytes, '\0')};
    if (!read(result.text.data(), result.text.size())) return std::nullopt;
    return result;
}

} // namespace volley::view
