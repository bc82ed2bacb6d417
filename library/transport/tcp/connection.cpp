// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/connection.h"

#include "boot/error.h"
#include "transport/abort.h"
#include "transport/node.h"
#include "transport/tcp/tcp.h"
#include "wait/descriptors.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

namespace volley {
namespace {

/// A connection is read or written at most so often in a row, so that none starves.
constexpr int most_reads = 8;
constexpr int most_writes = 8;

/// A rank that was killed takes its connections with it. The rank that sees this waits so long for the launcher to
/// notice, since the launcher can tell more about the cause.
constexpr int launcher_looks = 300;
constexpr timespec between_looks{.tv_sec = 0, .tv_nsec = 10'000'000};

/// The other host does not answer. Whether or not something depends on this connection now: the rank there will not say
/// that it leaves, and others may wait for it for ever.
bool is_unreachable(int error) {
    return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN;
}

/// "rank 3", or "rank 3 on node7" where ranks are on several hosts.
std::string description(ProcessIndex process) {
    const std::string host = node_records(node.arena)[processes[process].node].host;
    return "rank " + std::to_string(processes.rank_in_job(process)) + (host.empty() ? "" : " on " + host);
}

} // namespace

/// The ranks of a job have one transport. Those of other jobs may have another, so there it is TCP.
Connection::Connection(ProcessIndex peer, std::uint64_t key, ConnectionEntry::Direction direction)
    : peer_(peer), key_(key), published_(peer, direction) {
    if (fabric.enabled() && !processes.is_of_other_job(peer))
        fabric_ = std::make_unique<FabricChannel>(static_cast<FabricUser &>(*this));
}

const RankRecord &Connection::record_of_peer() const {
    return rank_records(node.arena)[peer_];
}

bool Connection::frame(const wire::FrameHeader &header, unsigned char *payload) {
    switch (header.kind) {
    case wire::FrameKind::leaving:
        peer_leaves_ = true;
        return true;
    case wire::FrameKind::fabric:
        return fabric_ && introduce(payload);
    case wire::FrameKind::taken:
        return ++leavings_taken_ <= leavings_;
    default:
        return take_frame(header, payload);
    }
}

bool Connection::introduce(const unsigned char *introduction) {
    wire::FabricIntroduction other;
    std::memcpy(&other, introduction, sizeof other);
    try {
        return fabric_->introduce(other);
    } catch (const Error &error) {
        fail(error.what());
    }
}

void Connection::take_from_fabric(const wire::FrameHeader &header, unsigned char *payload) {
    if (header.kind == wire::FrameKind::leaving) { // behind all others
        writer_.add({.kind = wire::FrameKind::taken});
        flush();
    } else if (header.kind == wire::FrameKind::taken || !take_frame(header, payload)) {
        fail("what arrived is no message of this library");
    }
    publish();
}

/// Nothing that was to go to a rank that has left, or is gone, is missed. Its end is found by the socket.
void Connection::fabric_failed(const std::string &reason) {
    if (peer_leaves_ || is_lost_) return;
    if (!reading_) receive();
    if (!peer_leaves_ && !is_lost_) fail("libfabric's provider " + fabric.endpoint().provider() + ": " + reason);
}

void Connection::say(const wire::FrameHeader &header, const void *payload) {
    count(header);
    if (fabric_)
        fabric_->say(header, payload);
    else
        writer_.add(header, payload);
}

bool Connection::say_in_place(const wire::FrameHeader &header, const char *payload) {
    if (fabric_ || payload_open_) return false;
    count(header);
    writer_.add_in_place(header, payload);
    payload_open_ = true;
    return true;
}

void Connection::keep_payload() {
    writer_.keep_payload();
    payload_open_ = false;
}

Connection::~Connection() {
    if (stream_) tcp.forget_stream(*this);
}

void Connection::use(Descriptor socket, std::unique_ptr<SharedStream> stream) {
    socket_ = std::move(socket);
    stream_ = std::move(stream);
    if (stream_) {
        tcp.watch_stream(*this);
        reader_.read_little_ahead();
    }
    // What libfabric sends goes by other sockets, and to a relay only a part of the way.
    if (!fabric_ && !stream_ && node.arena->transport != Transport::daemon) published_.socket(socket_.get());
    is_pending_ = false;
    if (!descriptors.add(socket_.get(), EPOLLIN, key_)) fail(std::strerror(errno));
    if (fabric_) {
        const wire::FabricIntroduction own = fabric_->introduction();
        writer_.add({.kind = wire::FrameKind::fabric, .bytes = sizeof own}, &own);
    }
    flush();
}

bool Connection::serve() {
    if (stream_) look_for_end();
    bool moved = receive();
    return flush() || moved;
}

/// The other end has closed its socket, or is gone. All that it has written is there.
void Connection::look_for_end() {
    char byte;
    const ssize_t got = recv(socket_.get(), &byte, 1, MSG_DONTWAIT);
    if (got > 0) fail("what arrived is no message of this library");
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    has_ended_ = true;
    why_ended_ = got < 0 ? errno : 0;
}

/// As readv().
ssize_t Connection::read_some(std::span<const iovec> into) {
    if (!stream_) return readv(socket_.get(), into.data(), static_cast<int>(into.size()));
    const std::size_t got = stream_->read(into);
    if (stream_->is_broken()) fail("what arrived is no message of this library");
    if (got > 0 || (has_ended_ && why_ended_ == 0)) return static_cast<ssize_t>(got);
    errno = has_ended_ ? why_ended_ : EAGAIN;
    return -1;
}

/// As sendmsg(). If there is no room in memory, the other end will ring.
ssize_t Connection::write_some(std::span<const iovec> from) {
    if (stream_) {
        const std::size_t put = stream_->write(from);
        if (stream_->is_broken()) fail("the other end has spoilt the memory it shares with this one");
        errno = EAGAIN;
        return put > 0 ? static_cast<ssize_t>(put) : -1;
    }
    msghdr message = {};
    message.msg_iov = const_cast<iovec *>(from.data());
    message.msg_iovlen = from.size();
    return sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
}

bool Connection::receive() {
    bool moved = false;
    reading_ = true;
    for (int reads = 0; socket_; reads++) {
        if (reads >= most_reads && !has_ended_) {
            if (stream_) doorbell.look_again();
            break;
        }
        std::array<iovec, 2> into;
        int places = reader_.places(into);
        std::size_t asked = into[0].iov_len + (places > 1 ? into[1].iov_len : 0);
        ssize_t got = read_some({into.data(), static_cast<std::size_t>(places)});
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) {
            reader_.nothing_came();
            break;
        }
        if (got <= 0) {
            const int error = got < 0 ? errno : 0;
            const std::string reason = got == 0 ? "it was closed" : std::strerror(error);
            if (is_unreachable(error)) broken(reason);
            lost(reason);
            break;
        }
        moved = true;
        if (!reader_.arrived(static_cast<std::size_t>(got), *this)) fail("what arrived is no message of this library");
        if (!stream_ && static_cast<std::size_t>(got) < asked) break;
    }
    reading_ = false;
    publish();
    return moved;
}

bool Connection::flush() {
    const bool moved = write_what_goes();
    publish();
    return moved;
}

/// Whoever compares what one end has said with what the other has handled knows whether something is on its way. So
/// what has been said is published before the rank waits for anything.
void Connection::publish() {
    ConnectionEntry *entry = published_.entry();
    if (!entry) return;
    constexpr auto relaxed = std::memory_order_relaxed;
    const Backlog left = backlog();
    entry->messages.store(message_count_.messages, relaxed);
    entry->bytes.store(message_count_.bytes, relaxed);
    entry->frames_said.store(writer_.frames() + (fabric_ ? fabric_->frames_said() : 0), relaxed);
    entry->frames_handled.store(reader_.frames() + (fabric_ ? fabric_->frames_taken() : 0), relaxed);
    entry->queued.store(writer_.left(), relaxed);
    entry->announced.store(static_cast<std::uint32_t>(left.announced), relaxed);
    entry->streams.store(static_cast<std::uint32_t>(left.streams), relaxed);
}

bool Connection::write_what_goes() {
    if (is_lost_) {
        if (!socket_ && !peer_leaves_ && is_needed()) broken(why_lost_);
        if (!socket_) writer_ = {}; // nobody is there to read it
        if (!socket_) all_written();
        return false;
    }
    bool moved = false;
    for (int writes = 0; socket_; writes++) {
        if (!writer_.has_payload()) {
            if (std::exchange(payload_open_, false)) payload_written();
            payload_open_ = next_payload();
        }
        if (writer_.is_empty()) break;
        if (writes == most_writes) {
            write_later();
            if (stream_) doorbell.look_again();
            return moved;
        }
        std::array<iovec, 3> from;
        const auto parts = static_cast<std::size_t>(writer_.gather(from));
        const ssize_t put = write_some({from.data(), parts});
        if (put >= 0) {
            writer_.written(static_cast<std::size_t>(put));
            moved = true;
        } else if (errno == EAGAIN) {
            write_later();
            return moved;
        } else if (errno != EINTR) {
            write_failed();
            return true;
        }
    }
    if (socket_ && !stream_) watch(false);
    if (is_written()) all_written();
    if (socket_ && is_ending_) shutdown(socket_.get(), SHUT_WR);
    return moved;
}

/// The socket says when there is room. Of memory the other end does.
void Connection::write_later() {
    if (!stream_) watch(true);
}

void Connection::watch(bool writable) {
    if (watches_writable_ == writable) return;
    watches_writable_ = writable;
    descriptors.change(socket_.get(), writable ? EPOLLIN | EPOLLOUT : EPOLLIN, key_);
}

bool Connection::is_acknowledged() const {
    int bytes = 0;
    if (fabric_ && socket_ && !peer_leaves_ && leavings_taken_ < leavings_) return false;
    if (stream_) return peer_leaves_ || writer_.is_empty(); // the memory stays as long as one end has it
    return !is_pending_ && (peer_leaves_ || !socket_ || ioctl(socket_.get(), SIOCOUTQ, &bytes) != 0 || bytes == 0);
}

void Connection::say_leaving() {
    // A sender's connection whose receiver never accepted one has nothing to say, and nobody to say it to.
    if ((!socket_ && !is_pending_) || is_lost_ || is_ending_) return;
    writer_.add({.kind = wire::FrameKind::leaving});
    if (fabric_) {
        fabric_->say({.kind = wire::FrameKind::leaving});
        leavings_++;
    }
    flush();
}

void Connection::end(std::uint64_t new_key) {
    say_leaving();
    is_ending_ = true;
    key_ = new_key;
    if (socket_) descriptors.change(socket_.get(), watches_writable_ ? EPOLLIN | EPOLLOUT : EPOLLIN, key_);
    flush();
}

/// Whether something depends on this connection, which has ended.
bool Connection::has_failed() const {
    if (peer_leaves_ || is_ending_) return false;
    bool is_connected = processes.is_of_other_job(peer_) && processes.contact(peer_).references > 0;
    return is_needed() || is_connected || !reader_.is_between_frames();
}

void Connection::give_up(std::string reason) {
    is_lost_ = true;
    is_pending_ = false;
    why_lost_ = std::move(reason);
}

/// What the peer has sent before it left is still there to be read.
void Connection::write_failed() {
    is_lost_ = true;
    if (!reading_)
        while (socket_ && receive()) {}
}

void Connection::lost(const std::string &reason) {
    is_lost_ = true;
    if (has_failed()) broken(reason);
    why_lost_ = reason;
    close();
    all_written();
}

void Connection::close() {
    is_lost_ = true;
    is_pending_ = false;
    if (socket_) descriptors.remove(socket_.get()); // closing is not enough if a child of fork has it, too
    socket_.reset();
    if (stream_) tcp.forget_stream(*this);
    stream_.reset();
    writer_ = {};
}

/// Something depends on the connection, which has ended.
void Connection::broken(const std::string &reason) const {
    if (node.arena->recovery == 0 || processes.is_of_other_job(peer_)) fail(reason);
    tcp.suspect(peer_, describe(reason));
}

std::string Connection::describe(const std::string &reason) const {
    auto [sender, receiver] = ends();
    return "the TCP connection for messages from " + description(sender) + " to " + description(receiver) +
           " has failed: " + reason;
}

void Connection::fail(const std::string &reason) const {
    if (processes.is_of_other_job(peer_)) {
        std::string text = "rank " + std::to_string(processes[peer_].name.rank) +
                           " of a job that this one is connected to is gone (" + reason +
                           "): it ended without MPI_Finalize, or its job was aborted";
        abort_job_for(text.c_str());
    }
    for (int looks = 0; looks < launcher_looks && node.arena->ending.load() == 0; looks++)
        nanosleep(&between_looks, nullptr);
    abort_job_for(describe(reason).c_str());
}

} // namespace volley
