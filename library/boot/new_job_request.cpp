// SPDX-License-Identifier: BSD-3-Clause
#include "boot/new_job_request.h"

#include "boot/foreign/host_socket.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <cstdlib>
#include <cstring>

namespace volley {
namespace {

/// More than a command line has.
constexpr std::uint64_t longest_request = 8 << 20;
/// A rank writes its request at once.
constexpr timeval longest_silence{.tv_sec = 1, .tv_usec = 0};

struct Head {
    unsigned char secret[secret_bytes];
    std::uint64_t bytes; ///< that follow: texts, each with a zero at its end; the first is the port
};

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
    return listen_on_host("where ranks ask for further jobs", number);
}

Descriptor connect_to_launcher(std::uint32_t number) {
    return connect_on_host(number, "mpiexec");
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
