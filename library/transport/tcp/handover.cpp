// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/handover.h"

#include "boot/foreign/host_socket.h"
#include "boot/handed_descriptors.h"
#include "transport/process.h"

#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <span>
#include <vector>

namespace volley {
namespace {

/// "VOLMEM", version 1.
constexpr std::uint64_t word_magic = 0x0150'4d45'4d4c'4f56;

/// With rings of 1 MiB both ends copy at the same time: half a ping-pong of 1 MiB takes 35 us, and with 256 KiB 114, of
/// 8 MiB 290 and 780 (bench/jobs.cpp, two cores of a Zen 4 EPYC). All rings of a process that knows many others have so
/// many bytes together, but each has enough for a message of usual length.
constexpr std::size_t most_forth = 1 << 20, least_forth = 16 << 10, all_forth = 16 << 20;
/// Of what receivers say each frame is a header.
constexpr std::size_t back_bytes = 4 << 10;

std::size_t forth_bytes() {
    const auto others = static_cast<std::size_t>(std::max(1, processes.size() - processes.ranks()));
    return std::clamp(std::bit_floor(all_forth / others), least_forth, most_forth);
}

HandshakeState failed() {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? HandshakeState::going_on
                                                                     : HandshakeState::closed;
}

} // namespace

bool is_on_host(int socket) {
    int domain = 0;
    socklen_t bytes = sizeof domain;
    return getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX;
}

HandshakeState Handover::advance() {
    if (!has_spoken_) return is_sender_ ? offer() : answer();
    return is_sender_ ? confirm() : conclude();
}

HandshakeState Handover::offer() {
    Descriptor file;
    stream_ = SharedStream::make(forth_bytes(), back_bytes, file);
    has_spoken_ = true;
    if (!stream_) return say(false, {});
    const HandshakeState state = say(true, {file.get(), doorbell.file().get()});
    return state == HandshakeState::proven ? HandshakeState::going_on : state;
}

HandshakeState Handover::answer() {
    bool is_able = false;
    Handed handed;
    if (const HandshakeState state = hear(is_able, handed); state != HandshakeState::proven) return state;
    if (!is_of_same_user(socket_)) return HandshakeState::refused;
    has_spoken_ = true;
    if (!is_able) return HandshakeState::proven;
    stream_ = SharedStream::map(handed[0]);
    OtherDoorbell other(handed[1]);
    if (!stream_ || !other) {
        stream_.reset();
        return say(false, {});
    }
    stream_->introduce(std::move(other));
    const HandshakeState state = say(true, {doorbell.file().get()});
    return state == HandshakeState::proven ? HandshakeState::going_on : state;
}

HandshakeState Handover::confirm() {
    bool is_able = false;
    Handed handed;
    if (const HandshakeState state = hear(is_able, handed); state != HandshakeState::proven) return state;
    OtherDoorbell other(handed[0]);
    const bool is_shared = is_able && other;
    if (is_shared)
        stream_->introduce(std::move(other));
    else
        stream_.reset();
    return is_able ? say(is_shared, {}) : HandshakeState::proven;
}

HandshakeState Handover::conclude() {
    bool is_able = false;
    Handed handed;
    const HandshakeState state = hear(is_able, handed);
    if (state == HandshakeState::proven && !is_able) stream_.reset();
    return state;
}

/// A new socket always takes so little whole.
HandshakeState Handover::say(bool is_able, std::initializer_list<int> descriptors) const {
    const Word word{.magic = word_magic, .is_able = is_able ? 1U : 0U};
    const std::span<const int> handed(std::data(descriptors), descriptors.size());
    const ssize_t put = send_with_descriptors(socket_, &word, sizeof word, handed, MSG_DONTWAIT);
    return put == static_cast<ssize_t>(sizeof word) ? HandshakeState::proven : HandshakeState::closed;
}

HandshakeState Handover::hear(bool &is_able, Handed &handed) const {
    Word word = {};
    std::vector<Descriptor> descriptors;
    const ssize_t got = receive_with_descriptors(socket_, &word, sizeof word, descriptors, MSG_DONTWAIT);
    if (got < 0) return failed();
    if (got == 0) {
        errno = 0;
        return HandshakeState::closed;
    }
    if (got != static_cast<ssize_t>(sizeof word) || word.magic != word_magic || descriptors.size() > handed.size())
        return HandshakeState::refused;
    std::ranges::move(descriptors, handed.begin());
    is_able = word.is_able != 0;
    return HandshakeState::proven;
}

} // namespace volley
