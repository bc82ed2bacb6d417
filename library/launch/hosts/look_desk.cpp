// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/look_desk.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "boot/foreign/host_socket.h"

namespace volley::launch {

LookDesk::LookDesk(std::string secret, std::int32_t node)
    : secret_(std::move(secret)), node_(node),
      listener_(listen_on_host("where tools ask for the ranks of other hosts", number_)) {}

void LookDesk::watch(std::vector<pollfd> &watched) const {
    if (tool_)
        watched.push_back({tool_.get(), static_cast<short>(pending_.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    else if (!dropped_)
        watched.push_back({listener_.get(), POLLIN, 0});
}

std::optional<Clock::time_point> LookDesk::deadline() const {
    if (!tool_) return std::nullopt;
    return until_;
}

bool LookDesk::advance() {
    if (!tool_ && !dropped_) accept();
    if (!tool_) return false;
    const bool asks = take_request();
    if (tool_) write_some();
    if (tool_ && ((finished_ && pending_.empty()) || Clock::now() >= until_)) drop();
    return asks;
}

/// What is under way to a tool that has gone must not reach the next one.
void LookDesk::drop() {
    tool_.reset();
    dropped_ = asked_ && !finished_;
}

void LookDesk::accept() {
    Descriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) return;
    const auto user = user_of(connection);
    if (user != geteuid() && user != uid_t{0}) return;
    tool_ = std::move(connection);
    until_ = Clock::now() + longest_looks;
    asked_ = finished_ = false;
    pending_.clear();
    written_ = 0;
}

/// True once, when the whole request has come. It is short, and written at once.
bool LookDesk::take_request() {
    LookRequest request = {};
    const ssize_t got = recv(tool_.get(), &request, sizeof request, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    const bool sensible = !asked_ && got == static_cast<ssize_t>(sizeof request) && request.node == node_ &&
                          secret_.size() >= secret_bytes &&
                          std::memcmp(request.secret, secret_.data(), secret_bytes) == 0;
    if (!sensible) drop(); // or it has gone
    asked_ |= sensible;
    return sensible;
}

void LookDesk::write_some() {
    while (written_ < pending_.size()) {
        const ssize_t put = send(tool_.get(), pending_.data() + written_, pending_.size() - written_, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) return;
        if (put < 0) return drop();
        written_ += static_cast<std::size_t>(put);
    }
    pending_.clear();
    written_ = 0;
}

void LookDesk::put(const LookPart &part, std::string_view text) {
    if (!tool_ || !asked_) return;
    pending_.append(reinterpret_cast<const char *>(&part), sizeof part);
    pending_ += text;
    write_some();
}

void LookDesk::answer(std::int32_t node, std::string_view text) {
    put({node, static_cast<std::uint32_t>(text.size())}, text);
}

void LookDesk::finish() {
    put({-1, 0}, {});
    finished_ = true;
    dropped_ = false;
}

} // namespace volley::launch
