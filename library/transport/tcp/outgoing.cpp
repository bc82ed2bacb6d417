// SPDX-License-Identifier: BSD-3-Clause
/// The sender's end of a connection.
#include "transport/message.h"
#include "transport/node.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/tcp.h"
#include "wait/descriptors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace volley {
namespace {

/// Of a connection whose other end closes it before memory has been handed over.
constexpr int most_handovers = 16;
/// Data that does not lie in one block is packed so many bytes at a time.
constexpr Count packed_at_once = 256 << 10;

std::uint64_t eager_limit() {
    return std::min<std::uint64_t>(node.settings.eager_limit.value_or(wire::usual_eager), wire::usual_eager);
}

/// Providers, too, send up to 16 KiB at once and announce what is longer: what is eager is to be so with what goes
/// before.
std::uint64_t fabric_eager_limit() {
    return std::min<std::uint64_t>(eager_limit(), wire::usual_eager - FabricChannel::head_bytes);
}

wire::FrameHeader header_of(const Send &send, wire::FrameKind kind, std::uint64_t id) {
    return {.kind = kind,
            .context = send.envelope.context,
            .source = send.envelope.source,
            .tag = send.envelope.tag,
            .bytes = static_cast<std::uint64_t>(send.bytes),
            .id = id,
            .name = name_of_context(send.envelope.context)};
}

Secret secret_of(ProcessIndex receiver) {
    if (processes.is_of_other_job(receiver)) return processes.contact(receiver).secrets.back();
    Secret own;
    std::ranges::copy(node.arena->secret, own.begin());
    return own;
}

/// Processes of other jobs are reached without it.
bool is_reached_by_relay(ProcessIndex receiver) {
    return !processes.is_of_other_job(receiver) && node_records(node.arena)[node.number()].relay_port != 0;
}

/// Where to connect for messages to a process: where it takes connections, or the relay of this host does. Nowhere, if
/// it takes none yet.
std::vector<Place> places_of(ProcessIndex receiver) {
    if (processes.is_of_other_job(receiver))
        return {{processes.contact(receiver).address, processes.contact(receiver).port,
                 processes.contact(receiver).host_socket}};
    const std::uint32_t port = rank_records(node.arena)[receiver].tcp_port.load(std::memory_order_acquire);
    if (port == 0) return {};
    const NodeRecord &own = node_records(node.arena)[node.number()];
    if (is_reached_by_relay(receiver))
        return {{address_of(node.number()), static_cast<std::uint16_t>(own.relay_port), own.relay_socket}};
    return places_at(node_records(node.arena)[processes[receiver].node], static_cast<std::uint16_t>(port));
}

/// Where it is kept which of those places has led there before. All ranks of this host do so together.
std::atomic<std::uint32_t> *preferred_of(ProcessIndex receiver) {
    if (processes.is_of_other_job(receiver) || is_reached_by_relay(receiver)) return nullptr;
    return &node_records(node.arena)[processes[receiver].node].preferred_address;
}

/// Why there is no connection, for people.
std::string cannot_connect(const ConnectionAttempts &attempts) {
    constexpr const char *remedy =
        " (a firewall, or a network that leads nowhere: let ranks connect to all ports, or name another network, "
        "with mpiexec --interface or VOLLEY_INTERFACE)";
    return attempts.problem() + (attempts.may_be_filtered() ? remedy : "");
}

} // namespace

Outgoing::Outgoing(ProcessIndex receiver, std::uint64_t key)
    : Connection(receiver, key, ConnectionEntry::Direction::to_peer), is_relayed_(is_reached_by_relay(receiver)) {}

Backlog Outgoing::backlog() const {
    return {.announced = announced_.size(), .streams = streams_.size() + halted_.size()};
}

bool Outgoing::connect() {
    std::vector<Place> places = places_of(peer_);
    if (places.empty()) return false;
    const ProcessName &own = processes[node.rank].name, &receiver = processes[peer_].name;
    const HandshakeEnds ends = {.protocol = wire::protocol,
                                .from_job = own.job,
                                .to_job = receiver.job,
                                .from_rank = own.rank,
                                .to_rank = receiver.rank};
    const auto watch = [this](int descriptor, std::uint32_t before, std::uint32_t events) {
        if (before == 0) return descriptors.add(descriptor, events, key_);
        events == 0 ? descriptors.remove(descriptor) : descriptors.change(descriptor, events, key_);
        return true;
    };
    attempts_ =
        std::make_unique<ConnectionAttempts>(std::move(places), preferred_of(peer_), secret_of(peer_), ends, watch);
    expect();
    shake_hands();
    return true;
}

bool Outgoing::serve() {
    if (handover_) return hand_over();
    return attempts_ ? shake_hands() : Connection::serve();
}

/// True if the connection is there, or will never be.
bool Outgoing::shake_hands() {
    const HandshakeState state = attempts_->advance();
    if (state == HandshakeState::going_on) return false;
    const auto attempts = std::exchange(attempts_, nullptr);
    if (state == HandshakeState::proven) {
        return begin(attempts->take());
    } else {
        give_up(cannot_connect(*attempts));
        flush();
    }
    return true;
}

/// The two ends have proved who they are. On one host they go on to share memory. Returns as shake_hands().
bool Outgoing::begin(Descriptor socket) {
    if (!processes.is_of_other_job(peer_) || !is_on_host(socket.get())) {
        use(std::move(socket), nullptr);
        return true;
    }
    handovers_++;
    handover_ = std::make_unique<Handover>(std::move(socket), true);
    if (!descriptors.add(handover_->descriptor(), EPOLLIN, key_)) fail(std::strerror(errno));
    return hand_over();
}

/// As shake_hands(). Whoever has closed the connection is asked again, as before the two have proved who they are.
bool Outgoing::hand_over() {
    const HandshakeState state = handover_->advance();
    const int reason = errno;
    if (state == HandshakeState::going_on) return false;
    descriptors.remove(handover_->descriptor());
    const std::unique_ptr<Handover> over = std::exchange(handover_, nullptr);
    const bool was_closed = reason == 0 || reason == ECONNRESET || reason == EPIPE;
    if (state == HandshakeState::proven) {
        use(over->take_socket(), over->take_stream());
    } else if (state == HandshakeState::closed && was_closed && handovers_ < most_handovers) {
        connect();
    } else {
        give_up(state != HandshakeState::closed ? "the other end does not say how it shares memory"
                : was_closed                    ? "it was closed before the other end had said how it shares memory"
                                                : std::strerror(reason));
        flush();
    }
    return !attempts_ && !handover_;
}

void Outgoing::start(Send &send) {
    has_started_ = true;
    auto bytes = static_cast<std::uint64_t>(send.bytes);
    const bool is_eager = send.mode != SendMode::synchronous && bytes <= longest_eager() &&
                          unreceived_ + wire::eager_cost(bytes) <= wire::eager_credit;
    if (!is_eager) {
        send.tcp_number = ++last_id_;
        announced_[send.tcp_number] = &send;
        say(header_of(send, wire::FrameKind::request, send.tcp_number));
    } else {
        send_eagerly(send, bytes);
    }
    flush();
    // Whoever has sent a message of usual length need not wait for the receiver to make room.
    if (in_place_ == &send && bytes <= wire::usual_eager) take_over_payload();
}

/// What is left of the message that is being written from where it lies is copied.
void Outgoing::take_over_payload() {
    keep_payload();
    sent(*std::exchange(in_place_, nullptr));
}

/// A user who has set the limit wants that one.
std::uint64_t Outgoing::longest_eager() const {
    if (fabric_) return fabric_eager_limit();
    if (stream_ && !node.settings.eager_limit) return wire::largest_eager; // memory has no queues that overflow
    return node.settings.eager_limit ? eager_limit() : std::max(eager_limit(), welcome_);
}

void Outgoing::send_eagerly(Send &send, std::uint64_t bytes) {
    unreceived_ += wire::eager_cost(bytes);
    const wire::FrameHeader header = header_of(send, wire::FrameKind::eager, 0);
    const std::uint64_t longest_whole = stream_ ? wire::longest_whole_in_memory : wire::usual_eager;
    if (wire::comes_in_parts(header, longest_whole) && send.contiguous && say_in_place(header, send.contiguous)) {
        in_place_ = &send;
        return;
    }
    const char *payload = send.contiguous;
    if (!payload) {
        packed_eager_.resize(bytes);
        pack(send.buffer, 0, send.bytes, packed_eager_.data());
        payload = packed_eager_.data();
    }
    say(header, payload);
    if (is_relayed_)
        untaken_.push_back(&send);
    else
        sent(send);
}

/// The relay has all that was to be written.
void Outgoing::all_written() {
    if (in_place_ != nullptr) sent(*std::exchange(in_place_, nullptr)); // nobody is there to read it
    for (Send *send : std::exchange(untaken_, {})) sent(*send);
}

void Outgoing::cancel(const Send &send) {
    if (in_place_ == &send) return take_over_payload(); // it has gone; its completion must not wait for the receiver
    if (!announced_.contains(send.tcp_number)) return;  // it is being received
    say({.kind = wire::FrameKind::cancel, .id = send.tcp_number});
    flush();
}

void Outgoing::tell_departed(std::uint32_t context, int members) {
    say({.kind = wire::FrameKind::departed, .context = context, .bytes = static_cast<std::uint64_t>(members)});
    flush();
}

void Outgoing::abandon() {
    attempts_.reset();
    if (handover_) descriptors.remove(handover_->descriptor());
    handover_.reset();
    std::vector<Send *> ended = std::exchange(untaken_, {});
    if (in_place_ != nullptr) ended.push_back(std::exchange(in_place_, nullptr));
    close();
    for (const auto &[id, send] : std::exchange(announced_, {})) ended.push_back(send);
    for (const Stream &stream : std::exchange(streams_, {})) ended.push_back(stream.send);
    for (const auto &[id, stream] : std::exchange(halted_, {})) ended.push_back(stream.send);
    for (Send *send : ended) refuse_send(*send);
}

bool Outgoing::end_sends(const std::function<bool(const Send &)> &is_over,
                         const std::function<int(const Send &)> &code_of) {
    std::vector<std::pair<std::uint64_t, Send *>> ended;
    for (const auto &[id, send] : announced_)
        if (is_over(*send)) ended.emplace_back(id, send);
    for (const auto &[id, send] : ended) {
        announced_.erase(id);
        withdrawn_[id] = send->envelope.context;
        send->error = code_of(*send);
        sent(*send);
    }
    return !ended.empty();
}

bool Outgoing::take_frame(const wire::FrameHeader &header, unsigned char *) {
    if (header.kind == wire::FrameKind::credit) {
        if (header.bytes > unreceived_) return false;
        unreceived_ -= header.bytes;
        return true;
    }
    if (header.kind == wire::FrameKind::limit) {
        welcome_ = header.bytes;
        return true;
    }
    if (header.kind == wire::FrameKind::pull) return pulled(header);
    if (header.kind != wire::FrameKind::cancelled) return false;
    if (withdrawn_.erase(header.id) > 0) return true;
    auto found = announced_.extract(header.id);
    if (found.empty()) return false;
    Send &send = *found.mapped();
    send.cancelled = true;
    sent(send);
    return true;
}

bool Outgoing::Stream::grant(const wire::FrameHeader &header) {
    const auto bytes = static_cast<Count>(header.bytes);
    if (is_all || bytes > send->bytes || bytes < granted || (bytes == granted && bytes > 0)) return false;
    granted = bytes;
    is_all = header.tag == 1;
    return true;
}

bool Outgoing::pulled(const wire::FrameHeader &header) {
    if (auto found = withdrawn_.find(header.id); found != withdrawn_.end()) {
        const std::uint32_t context = std::exchange(found->second, 0);
        const bool is_wanted = header.bytes > 0;
        if (is_wanted && context != 0) say({.kind = wire::FrameKind::withdrawn, .context = context, .id = header.id});
        return true;
    }
    if (fabric_) return pulled_by_fabric(header);
    if (auto found = announced_.extract(header.id)) {
        Stream stream{.send = found.mapped(), .id = header.id};
        return stream.grant(header) && write(stream);
    }
    if (auto found = halted_.extract(header.id)) return found.mapped().grant(header) && write(found.mapped());
    auto found = std::ranges::find(streams_, header.id, &Stream::id);
    return found != streams_.end() && found->grant(header);
}

/// What is granted of a message is written, or the message is complete.
bool Outgoing::write(const Stream &stream) {
    if (stream.written < stream.granted)
        streams_.push_back(stream);
    else if (stream.is_all)
        sent(*stream.send);
    else
        halted_[stream.id] = stream;
    return true;
}

/// A piece of a message's data, under way by libfabric.
class Outgoing::FabricPiece final : public FabricOperation {
  public:
    FabricPiece(Outgoing &connection, const Stream &stream, Count from, Count to)
        : connection_(connection), id_(stream.id), bytes_(to - from) {
        const Send &send = *stream.send;
        if (send.contiguous) {
            data_ = send.contiguous + from;
            return;
        }
        packed_.resize(static_cast<std::size_t>(bytes_));
        pack(send.buffer, from, to, packed_.data());
        data_ = packed_.data();
    }
    void send(FabricChannel &channel, std::uint64_t tag) {
        channel.send_data(data_, static_cast<std::size_t>(bytes_), tag, *this);
    }
    void completed(std::size_t) override {
        Outgoing &connection = connection_;
        const auto [id, bytes] = std::pair(id_, bytes_);
        delete this;
        connection.piece_sent(id, bytes);
    }
    void failed(const std::string &reason) override {
        Outgoing &connection = connection_;
        delete this;
        connection.fabric_failed(reason);
    }

  private:
    Outgoing &connection_;
    const std::uint64_t id_;
    const Count bytes_;
    const char *data_ = nullptr;
    std::vector<char> packed_; ///< the data, if it does not lie in one block
};

/// The places of what is granted are there, one for each piece.
bool Outgoing::pulled_by_fabric(const wire::FrameHeader &header) {
    if (auto found = announced_.extract(header.id)) halted_[header.id] = {.send = found.mapped(), .id = header.id};
    const auto found = halted_.find(header.id);
    if (found == halted_.end()) return false;
    Stream &stream = found->second;
    const Count from = stream.granted;
    if (!stream.grant(header)) return false;
    std::uint64_t tag = header.name;
    const Count to = stream.granted;
    for (Count at = from; at < to; at += wire::largest_data)
        (new FabricPiece(*this, stream, at, std::min<Count>(at + wire::largest_data, to)))->send(*fabric_, tag++);
    if (to == from) piece_sent(header.id, 0); // nothing is wanted of it
    return true;
}

void Outgoing::piece_sent(std::uint64_t id, Count bytes) {
    const auto found = halted_.find(id);
    Stream &stream = found->second;
    stream.written += bytes;
    if (stream.written < stream.granted || !stream.is_all) return;
    Send &send = *stream.send;
    halted_.erase(found);
    publish();
    sent(send);
}

bool Outgoing::begin_data(const wire::FrameHeader &, char *&) {
    return false; // data does not come this way
}

bool Outgoing::next_payload() {
    if (streams_.empty()) return false;
    const Stream &stream = streams_.front();
    const Send &send = *stream.send;
    Count most = send.contiguous ? static_cast<Count>(wire::largest_data) : packed_at_once;
    piece_ = std::min(most, stream.granted - stream.written);
    const char *payload = send.contiguous ? send.contiguous + stream.written : nullptr;
    if (!send.contiguous) {
        packed_.resize(static_cast<std::size_t>(packed_at_once));
        pack(send.buffer, stream.written, stream.written + piece_, packed_.data());
        payload = packed_.data();
    }
    writer_.add_in_place({.kind = wire::FrameKind::data, .bytes = static_cast<std::uint64_t>(piece_), .id = stream.id},
                         payload);
    return true;
}

/// Messages take turns, so that a long one does not hold up all others.
void Outgoing::payload_written() {
    if (in_place_ != nullptr) return sent(*std::exchange(in_place_, nullptr));
    Stream stream = streams_.front();
    streams_.pop_front();
    stream.written += piece_;
    write(stream);
}

bool Outgoing::is_needed() const {
    return has_started_ && (!is_delivered() || !writer_.is_empty() || (fabric_ && !fabric_->is_sent()));
}

std::pair<ProcessIndex, ProcessIndex> Outgoing::ends() const {
    return {node.rank, peer_};
}

} // namespace volley
