// SPDX-License-Identifier: BSD-3-Clause
#include "boot/new_job_request.h"

#include "boot/error.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace volley {
namespace {

/// The kernel names an abstract socket that is bound without a name with a zero byte and five hexadecimal digits.
constexpr int digits = 5;
constexpr socklen_t name_bytes = offsetof(sockaddr_un, sun_path) + 1 + digits;

/// More than a command line has.
constexpr std::uint64_t longest_request = 8 << 20;
/// A rank writes its request at once.
constexpr timeval longest_silence{.tv_sec = 1, .tv_usec = 0};

struct Head {
    unsigned char secret[secret_bytes];
    std::uint64_t bytes; ///< that follow: texts, each with a zero at its end; the first is the port
};

bool write_all(const Descriptor &socket, const void *bytes, std::size_t count) {
    return send(socket.get(), bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
}

bool read_all(const Descriptor &socket, void *bytes, std::size_t count) {
    return count == 0 || recv(socket.get(), bytes, count, MSG_WAITALL) == static_cast<ssize_t>(count);
}

/// Other users of the host can connect to a name that they guess, or take it when mpiexec has gone.
bool is_of_same_user(const Descriptor &socket) {
    ucred peer = {};
    socklen_t bytes = sizeof peer;
    return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

} // namespace

bool is_of_new_job(std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('='));
    return name == environment::parent || name == environment::report || name == environment::launcher;
}

Origin take_origin() {
    Origin origin;
    if (const char *number = std::getenv(environment::launcher))
        origin.launcher = static_cast<std::uint32_t>(std::strtoul(number, nullptr, 10));
    if (const char *port = std::getenv(environment::parent)) origin.parent = port;
    unsetenv(environment::launcher);
    unsetenv(environment::parent);
    return origin;
}

Descriptor listen_as_launcher(std::uint32_t &number) {
    Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    socklen_t bytes = sizeof name;
    if (!listener || bind(listener.get(), reinterpret_cast<sockaddr *>(&name), sizeof name.sun_family) != 0 ||
        listen(listener.get(), SOMAXCONN) != 0 ||
        getsockname(listener.get(), reinterpret_cast<sockaddr *>(&name), &bytes) != 0)
        throw system_error("cannot make the socket where ranks ask for further jobs");
    const std::string text(name.sun_path + 1, digits);
    number = static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 16)) + 1;
    return listener;
}

Descriptor connect_to_launcher(std::uint32_t number) {
    Descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    char text[digits + 1];
    std::snprintf(text, sizeof text, "%05x", (number - 1) & 0xfffffU);
    std::memcpy(name.sun_path + 1, text, digits);
    if (!made || connect(made.get(), reinterpret_cast<sockaddr *>(&name), name_bytes) != 0)
        throw system_error("cannot reach mpiexec");
    if (!is_of_same_user(made)) throw Error("cannot reach mpiexec: another user has its socket's name");
    return made;
}

bool send_request(const Descriptor &socket, const ArenaHead &arena, const NewJobRequest &request) {
    std::string body = request.port + '\0';
    for (const std::string &word : request.words) body += word + '\0';
    Head head = {};
    std::memcpy(head.secret, arena.secret, secret_bytes);
    head.bytes = body.size();
    return write_all(socket, &head, sizeof head) && write_all(socket, body.data(), body.size());
}

std::optional<NewJobRequest> receive_request(const Descriptor &socket, const ArenaHead &arena) {
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &longest_silence, sizeof longest_silence);
    Head head;
    if (!is_of_same_user(socket) || !read_all(socket, &head, sizeof head) ||
        std::memcmp(head.secret, arena.secret, secret_bytes) != 0 || head.bytes > longest_request)
        return std::nullopt;
    std::string body(head.bytes, '\0');
    if (!read_all(socket, body.data(), body.size())) return std::nullopt;
    std::vector<std::string> texts;
    for (std::size_t begin = 0; begin < body.size();) {
        texts.emplace_back(body.c_str() + begin);
        begin += texts.back().size() + 1;
    }
    if (texts.empty()) return std::nullopt;
    return NewJobRequest{{texts.begin() + 1, texts.end()}, texts.front()};
}

} // namespace volley
