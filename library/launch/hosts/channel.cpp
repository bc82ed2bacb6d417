// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace volley::launch {
namespace {

struct Header {
    FrameKind kind;
    std::int32_t number;
    std::uint32_t bytes;
};

/// The environment of a large job fits; what is longer is none of ours.
constexpr std::uint32_t longest_payload = 64 << 20;
constexpr std::size_t chunk_bytes = 64 * 1024;
constexpr std::size_t longest_noise = 64 * 1024;

void do_not_block(const Descriptor &descriptor) {
    if (descriptor) fcntl(descriptor.get(), F_SETFL, fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

/// What has been taken is removed now and then, not each time.
void shorten(std::string &text, std::size_t &done) {
    if (done < text.size() && done < chunk_bytes) return;
    text.erase(0, done);
    done = 0;
}

} // namespace

Channel::Channel(Descriptor from, Descriptor to, std::string_view begins_with)
    : from_(std::move(from)), to_(std::move(to)), begins_with_(begins_with), begun_(begins_with.empty()) {
    do_not_block(from_);
    do_not_block(to_);
}

Channel::Channel(Descriptor socket, const SessionKeys &keys) : begun_(true) {
    from_ = Descriptor(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    to_ = std::move(socket);
    do_not_block(to_);
    seal_ = std::make_unique<Seal>(Seal{Sealer(keys.sends), Unsealer(keys.receives)});
}

void Channel::put(std::string_view text) {
    if (seal_)
        seal_->sealer.seal(text, pending_);
    else
        pending_ += text;
}

/// False if what came is not what the other end has said.
bool Channel::take_over(std::string_view text) {
    if (seal_) return seal_->unsealer.unseal(text, arrived_);
    arrived_ += text;
    return true;
}

void Channel::say(std::string_view text) {
    put(text);
    write_some();
}

void Channel::send(FrameKind kind, std::int32_t number, std::string_view payload) {
    if (!to_) return;
    const Header header = {kind, number, static_cast<std::uint32_t>(payload.size())};
    put({reinterpret_cast<const char *>(&header), sizeof header});
    put(payload);
    write_some();
}

std::optional<Frame> Channel::next() {
    if (!begun_ && !find_beginning()) return std::nullopt;
    Header header;
    if (arrived_.size() - taken_ < sizeof header) return std::nullopt;
    std::memcpy(&header, arrived_.data() + taken_, sizeof header);
    if (header.bytes > longest_payload) {
        close();
        return std::nullopt;
    }
    if (arrived_.size() - taken_ - sizeof header < header.bytes) return std::nullopt;
    Frame frame{header.kind, header.number, arrived_.substr(taken_ + sizeof header, header.bytes)};
    taken_ += sizeof header + header.bytes;
    shorten(arrived_, taken_);
    return frame;
}

bool Channel::find_beginning() {
    const auto found = arrived_.find(begins_with_);
    if (found == std::string::npos) {
        noise_ = arrived_.substr(0, longest_noise);
        if (arrived_.size() > longest_noise) close();
        return false;
    }
    noise_ = arrived_.substr(0, found);
    taken_ = found + begins_with_.size();
    begun_ = true;
    return true;
}

void Channel::watch(std::vector<pollfd> &watched) const {
    if (from_ && !paused_) watched.push_back({from_.get(), POLLIN, 0});
    if (to_ && pending() > 0) watched.push_back({to_.get(), POLLOUT, 0});
}

void Channel::advance() {
    write_some();
    if (!paused_) read_some();
}

void Channel::read_some() {
    char chunk[chunk_bytes];
    // A bounded number of times, so that other channels have their turn.
    for (int reads = 0; reads < 16 && from_; reads++) {
        const ssize_t got = read(from_.get(), chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) return close();
        if (!take_over({chunk, static_cast<std::size_t>(got)})) return close();
    }
}

void Channel::write_some() {
    while (to_ && pending() > 0) {
        const char *const text = pending_.data() + written_;
        // Only a sealed one is known to be a socket.
        const ssize_t put =
            seal_ ? ::send(to_.get(), text, pending(), MSG_NOSIGNAL) : write(to_.get(), text, pending());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) break;
        if (put < 0) {
            to_.reset(); // what has come can still be read
            written_ = pending_.size();
            break;
        }
        written_ += static_cast<std::size_t>(put);
    }
    shorten(pending_, written_);
}

void Channel::close() {
    from_.reset();
    to_.reset();
    pending_.clear();
    written_ = 0;
}

} // namespace volley::launch
