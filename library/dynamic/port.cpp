// SPDX-License-Identifier: BSD-3-Clause
#include "dynamic/port.h"

#include "boot/error.h"
#include "boot/sockets.h"
#include "core/engine.h"
#include "dynamic/link.h"
#include "wait/clock.h"

#include <arpa/inet.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace volley {
namespace {

constexpr std::string_view scheme = "volley";
constexpr char separator = '|';
constexpr std::uint64_t longest_silence_ns = 5'000'000'000;
constexpr std::size_t most_candidates = 64;

/// The first that is said to a port.
struct Knock {
    std::uint64_t magic = 0x54524f50'4c4f5600; ///< "VOLPORT"
    std::uint64_t version = 1;
    Secret secret = {};
};

constexpr std::string_view digits = "0123456789abcdef";

std::string hexadecimal(const Secret &secret) {
    std::string text;
    for (unsigned char byte : secret) text += {digits[byte >> 4], digits[byte & 15]};
    return text;
}

std::vector<std::string> parts_of(std::string_view text) {
    std::vector<std::string> parts(1);
    for (char character : text) {
        if (character == separator)
            parts.emplace_back();
        else
            parts.back() += character;
    }
    return parts;
}

} // namespace

Secret random_secret() {
    Secret secret;
    if (getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size()))
        throw system_error("cannot draw random bytes");
    return secret;
}

std::string PortName::text() const {
    return std::string(scheme) + separator + text_of(address) + separator + std::to_string(port) + separator +
           hexadecimal(secret);
}

std::optional<PortName> PortName::of(std::string_view text) {
    const std::vector<std::string> parts = parts_of(text);
    PortName name;
    if (parts.size() != 4 || parts[0] != scheme || parts[3].size() != 2 * secret_bytes) return std::nullopt;
    name.address.family = parts[1].find(':') == std::string::npos ? AF_INET : AF_INET6;
    if (inet_pton(name.address.family, parts[1].c_str(), name.address.bytes) != 1) return std::nullopt;
    const char *end = parts[2].data() + parts[2].size();
    if (std::from_chars(parts[2].data(), end, name.port).ptr != end) return std::nullopt;
    for (std::size_t i = 0; i < secret_bytes; i++) {
        const char *byte = parts[3].data() + 2 * i;
        if (std::from_chars(byte, byte + 2, name.secret[i], 16).ptr != byte + 2) return std::nullopt;
    }
    return name;
}

Port::Port(const NetworkAddress &address) {
    name_.address = address;
    name_.secret = random_secret();
    listener_ = listen_at(address, name_.port);
}

void Port::take_connections() {
    while (Descriptor made = accept_from(listener_)) {
        // Who knows the secret says so at once, so the oldest of too many does not.
        if (candidates_.size() == most_candidates) candidates_.erase(candidates_.begin());
        candidates_.push_back({.socket = std::move(made), .since_ns = clock_ns()});
    }
}

/// False if the candidate has gone, or says something else.
bool Port::hear(Candidate &candidate) {
    unsigned char bytes[sizeof(Knock)];
    const std::size_t wanted = sizeof(Knock) - candidate.shown.size();
    if (wanted == 0) return true;
    const ssize_t got = recv(candidate.socket.get(), bytes, wanted, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return clock_ns() - candidate.since_ns < longest_silence_ns;
    if (got <= 0) return false;
    candidate.shown.insert(candidate.shown.end(), bytes, bytes + got);
    if (candidate.shown.size() < sizeof(Knock)) return true;
    Knock shown;
    std::memcpy(&shown, candidate.shown.data(), sizeof shown);
    unsigned differences = 0; // compared in the same time wherever the first difference is
    for (std::size_t i = 0; i < secret_bytes; i++)
        differences |= static_cast<unsigned>(shown.secret[i] ^ name_.secret[i]);
    return shown.magic == Knock{}.magic && shown.version == Knock{}.version && differences == 0;
}

/// The first candidate that has shown the secret.
Descriptor Port::choose() {
    std::erase_if(candidates_, [&](Candidate &candidate) { return !hear(candidate); });
    auto chosen =
        std::ranges::find_if(candidates_, [](const Candidate &one) { return one.shown.size() == sizeof(Knock); });
    if (chosen == candidates_.end()) return {};
    chosen->watch.reset();
    Descriptor socket = std::move(chosen->socket);
    candidates_.erase(chosen);
    return socket;
}

Descriptor Port::accept(const std::function<bool()> &is_over, int descriptor) {
    Descriptor chosen;
    const Watch watch(listener_.get());
    std::optional<Watch> other;
    if (descriptor >= 0) other.emplace(descriptor);
    engine.wait_until([&] {
        take_connections();
        chosen = choose();
        for (Candidate &candidate : candidates_)
            if (!candidate.watch) candidate.watch = std::make_unique<Watch>(candidate.socket.get());
        return chosen || (is_over && is_over());
    });
    for (Candidate &candidate : candidates_) candidate.watch.reset();
    return chosen;
}

Descriptor connect_to_port(const PortName &name) {
    Descriptor socket = connect_to(name.address, name.port);
    if (!socket) return socket;
    Knock knock;
    knock.secret = name.secret;
    Link link(socket.get());
    if (!link.write(&knock, sizeof knock)) socket.reset();
    return socket;
}

} // namespace volley
