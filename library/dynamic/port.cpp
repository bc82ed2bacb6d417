// SPDX-License-Identifier: BSD-3-Clause
#include "dynamic/port.h"

#include "boot/error.h"
#include "boot/sockets.h"
#include "boot/text.h"
#include "core/engine.h"
#include "dynamic/link.h"
#include "wait/clock.h"

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
constexpr std::ptrdiff_t most_candidates = 64; ///< that have proved nothing

/// "VOLPORT", version 2.
constexpr HandshakeEnds ends = {.protocol = 0x0254'524f'504c'4f56};

} // namespace

Secret random_secret() {
    Secret secret;
    if (getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size()))
        throw system_error("cannot draw random bytes");
    return secret;
}

std::string PortName::text() const {
    return std::string(scheme) + separator + text_of(address) + separator + std::to_string(port) + separator +
           to_hexadecimal({reinterpret_cast<const char *>(secret.data()), secret.size()});
}

std::optional<PortName> PortName::of(std::string_view text) {
    const std::vector<std::string> parts = fields_of(text, separator);
    PortName name;
    if (parts.size() != 4 || parts[0] != scheme || parts[3].size() != 2 * secret_bytes) return std::nullopt;
    const auto address = parse_address(parts[1]);
    if (!address) return std::nullopt;
    name.address = *address;
    const char *end = parts[2].data() + parts[2].size();
    if (std::from_chars(parts[2].data(), end, name.port).ptr != end) return std::nullopt;
    for (std::size_t i = 0; i < secret_bytes; i++) {
        const char *byte = parts[3].data() + 2 * i;
        if (std::from_chars(byte, byte + 2, name.secret[i], 16).ptr != byte + 2) return std::nullopt;
    }
    return name;
}

Port::Port(const NetworkAddress &address) {
    require_proofs();
    name_.address = address;
    name_.secret = random_secret();
    listener_ = listen_at(address, node.settings.port_range, name_.port);
}

void Port::take_connections() {
    while (Descriptor made = accept_from(listener_)) {
        // Who knows the secret says so at once, so the oldest of too many does not.
        if (std::ranges::count(candidates_, false, &Candidate::is_proven) == most_candidates)
            candidates_.erase(std::ranges::find(candidates_, false, &Candidate::is_proven));
        candidates_.push_back({.socket = ResponderSocket(std::move(made)), .since_ns = clock_ns()});
    }
}

/// False if the candidate has gone, or does not know the secret.
bool Port::hear(Candidate &candidate) {
    if (candidate.is_proven) return true;
    const HandshakeState state = candidate.socket.advance([&](const Introduction &introduction) {
        const bool is_meant = introduction.ends == ends && are_equal(introduction.secret, name_of(name_.secret));
        return is_meant ? std::optional(name_.secret) : std::nullopt;
    });
    candidate.is_proven = state == HandshakeState::proven;
    return candidate.is_proven ||
           (state == HandshakeState::going_on && clock_ns() - candidate.since_ns < longest_silence_ns);
}

/// The first candidate that has proved to know the secret.
Descriptor Port::choose() {
    std::erase_if(candidates_, [&](Candidate &candidate) { return !hear(candidate); });
    auto chosen = std::ranges::find(candidates_, true, &Candidate::is_proven);
    if (chosen == candidates_.end()) return {};
    chosen->watch.reset();
    Descriptor socket = chosen->socket.take();
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
            if (!candidate.watch) candidate.watch = std::make_unique<Watch>(candidate.socket.descriptor());
        return chosen || (is_over && is_over());
    });
    for (Candidate &candidate : candidates_) candidate.watch.reset();
    return chosen;
}

Descriptor connect_to_port(const PortName &name, const Deadline *deadline) {
    Descriptor socket = connect_to(name.address, name.port);
    if (!socket) return socket;
    const Initiator initiator(name.secret, ends);
    Link link(socket.get());
    if (deadline) link.set_deadline(*deadline);
    errno = 0;
    Answer answer;
    const bool is_answered =
        link.write(&initiator.introduction(), sizeof(Introduction)) && link.read(&answer, sizeof answer);
    const auto proof = is_answered ? initiator.prove(answer) : std::nullopt;
    if (proof && link.write(&*proof, sizeof *proof)) return socket;
    const int number = errno == ETIMEDOUT ? ETIMEDOUT : EKEYREJECTED;
    socket.reset();
    errno = number;
    return socket;
}

} // namespace volley
