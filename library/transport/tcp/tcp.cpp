// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/tcp.h"

#include "boot/error.h"
#include "boot/foreign/host_socket.h"
#include "transport/abort.h"
#include "transport/message.h"
#include "transport/node.h"
#include "transport/tcp/keys.h"
#include "wait/clock.h"
#include "wait/descriptors.h"
#include "wait/doorbell.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace volley {
namespace {

constexpr std::size_t most_silent = 64;
constexpr int most_reported = 8;
constexpr std::uint64_t longest_silence_ns = 5'000'000'000;
/// At most so many connections are accepted in a row, so that they do not keep the rank from its messages.
constexpr int most_accepted = 16;
/// 0.1 ms each.
constexpr int most_looks_for_end = 10'000;

/// A look at the descriptors is a system call of some 0.3 us, and a message by TCP takes 10 us or more. So when nothing
/// has been ready for as many rounds as such a message may take, a spinning rank looks at its memory some times in
/// between, which takes less.
constexpr std::uint32_t busy_rounds = 128;
constexpr std::uint32_t rounds_per_look = 16;

/// The process that introduces itself so; -1 if this process knows none that would.
ProcessIndex sender_of(const HandshakeEnds &ends) {
    const ProcessName &own = processes[node.rank].name;
    if (ends.protocol != wire::protocol || ends.to_job != own.job || ends.to_rank != own.rank) return -1;
    const ProcessIndex sender = processes.find({.job = ends.from_job, .rank = ends.from_rank});
    return sender >= 0 && processes[sender].transport == Transport::tcp ? sender : -1;
}

std::optional<Secret> secret_for(const Introduction &introduction) {
    const ProcessIndex sender = sender_of(introduction.ends);
    if (sender < 0) return std::nullopt;
    std::vector<Secret> secrets(1);
    if (processes.is_of_other_job(sender))
        secrets = processes.contact(sender).secrets;
    else
        std::ranges::copy(node.arena->secret, secrets.front().begin());
    const auto is_meant = [&](const Secret &secret) { return are_equal(name_of(secret), introduction.secret); };
    const auto found = std::ranges::find_if(secrets, is_meant);
    return found == secrets.end() ? std::nullopt : std::optional(*found);
}

/// Whoever introduces himself so wants another rank of this job. He has tried an address that both hosts have
/// (boot/proof/connection_attempts.h), and goes on to the next.
bool has_lost_his_way(const Introduction &introduction) {
    const ProcessName &own = processes[node.rank].name;
    if (introduction.ends.to_job != own.job || introduction.ends.to_rank == own.rank) return false;
    Secret secret;
    std::ranges::copy(node.arena->secret, secret.begin());
    return are_equal(name_of(secret), introduction.secret);
}

} // namespace

Tcp tcp;

Tcp::Tcp() : grants(key_of(Ready::grants, 0)) {}

NetworkAddress address_of(std::int32_t number) {
    const NetworkAddress &published = node_records(node.arena)[number].addresses[0];
    return published.family != 0 ? published : loopback_address();
}

void Tcp::open(std::vector<Descriptor> listeners) {
    if (enabled()) return;
    require_proofs();
    descriptors.open(*node.own);
    const bool is_published = !listeners.empty();
    std::uint16_t port = 0;
    if (!is_published) listeners.push_back(listen_at(address_of(node.number()), node.settings.port_range, port));
    listener_ = std::move(listeners.front());
    bool is_watched = descriptors.add(listener_.get(), EPOLLIN, key_of(Ready::listener, 0));
    for (std::size_t each = 1; each < listeners.size(); each++) // in the order of the node's addresses
        is_watched &= watch_listener(node_records(node.arena)[node.number()].addresses[each],
                                     static_cast<std::uint16_t>(node.own->tcp_port.load()), std::move(listeners[each]));
    if (!is_watched) abort_job_for("the system has no room to watch for TCP connections");
    if (node_records(node.arena)[node.number()].relay_port != 0) listen_for_relay();
    if (is_published) return;
    node.own->tcp_port.store(port, std::memory_order_release);
    node.wake_all(); // messages may wait for the port
}

/// Within a host a Unix socket is quicker.
void Tcp::listen_for_relay() {
    std::uint32_t number = 0;
    Descriptor socket = listen_on_host("for messages of other ranks", number);
    if (!watch_listener({}, 0, std::move(socket))) abort_job_for("the system has no room to watch for connections");
    node.own->relay_socket.store(number, std::memory_order_release);
}

std::uint16_t Tcp::listen_for_others(const NetworkAddress &address) {
    open({});
    auto is_at = [&](const NetworkAddress &other) { return std::memcmp(&other, &address, sizeof address) == 0; };
    if (is_at(address_of(node.number()))) return static_cast<std::uint16_t>(node.own->tcp_port.load());
    for (const Listener &listener : listeners_)
        if (is_at(listener.address)) return listener.port;
    std::uint16_t port = 0;
    Descriptor socket = listen_at(address, node.settings.port_range, port);
    if (!watch_listener(address, port, std::move(socket)))
        throw Error("the system has no room to watch for TCP connections");
    return port;
}

std::uint32_t Tcp::listen_on_this_host() {
    open({});
    if (host_socket_ != 0) return host_socket_;
    if (!doorbell.open(node.own->wake_up_socket.load())) throw system_error("cannot make memory for other jobs");
    std::uint32_t number = 0;
    Descriptor socket = listen_on_host("for messages of other jobs", number);
    if (!watch_listener({}, 0, std::move(socket))) throw Error("the system has no room to watch for connections");
    return host_socket_ = number;
}

/// It may be called while connections are served, so the places of the others stay.
void Tcp::forget_stream(Connection &connection) {
    std::ranges::replace(streams_, &connection, nullptr);
}

/// Others have written to memory, or made room there. Connections that are made meanwhile come behind.
bool Tcp::serve_streams() {
    doorbell.look();
    std::erase(streams_, nullptr);
    bool moved = false;
    for (std::size_t i = 0; i < streams_.size(); i++)
        if (streams_[i] != nullptr) moved |= streams_[i]->serve_memory();
    return moved;
}

bool Tcp::watch_listener(const NetworkAddress &address, std::uint16_t port, Descriptor socket) {
    const std::uint64_t key = key_of(Ready::other_listener, static_cast<int>(listeners_.size()));
    if (!descriptors.add(socket.get(), EPOLLIN, key)) return false;
    listeners_.push_back({address, port, std::move(socket)});
    return true;
}

void Tcp::watch(int descriptor, bool writable) {
    descriptors.add(descriptor, writable ? EPOLLOUT : EPOLLIN, key_of(Ready::watched, 0));
}

void Tcp::watch_elsewhere(int descriptor) {
    descriptors.add(descriptor, EPOLLIN, key_of(Ready::elsewhere, 0));
}

void Tcp::unwatch(int descriptor) {
    descriptors.remove(descriptor);
}

void Tcp::part(ProcessIndex process) {
    if (std::ranges::find(parting_, process) == parting_.end()) parting_.push_back(process);
}

/// Moves the end of the connections with a parting process on. True if nothing is left of them, or if the process is
/// known again.
bool Tcp::is_over(ProcessIndex process) {
    if (processes.contact(process).references > 0) return true;
    auto &outgoing = place_for(process, outgoing_);
    if (outgoing && (!outgoing->is_delivered() || !outgoing->is_written())) return false;
    if (outgoing) end(std::move(outgoing));
    if (place_for(process, incoming_)) return false; // until the other side ends it
    processes.forget(process);
    return true;
}

/// The connection stays until the other end has read all and has ended it, too.
void Tcp::end(std::unique_ptr<Outgoing> connection) {
    const std::uint32_t number = next_ending_++;
    connection->end(key_of(Ready::ending, static_cast<int>(number)));
    if (!connection->is_gone()) ending_[number] = std::move(connection);
}

Outgoing &Tcp::to(ProcessIndex process) {
    auto &connection = place_for(process, outgoing_);
    if (!connection) {
        connection = std::make_unique<Outgoing>(process, key_of(Ready::outgoing, process));
        if (!connection->connect()) waiting_.push_back(process);
    }
    return *connection;
}

void Tcp::start(Send &send) {
    to(send.receiver).start(send);
}

void Tcp::cancel(Send &send) {
    to(send.receiver).cancel(send);
}

void Tcp::fetch(Receive &receive, ProcessIndex sender, std::uint64_t number, Count wanted) {
    if (auto &connection = place_for(sender, incoming_)) return connection->fetch(receive, number, wanted);
    lost(receive, sender); // a matched probe had it
    volley::received(receive);
}

void Tcp::received(ProcessIndex sender, Count bytes) {
    // A process of another job may have left since it sent the message.
    if (auto &connection = place_for(sender, incoming_)) connection->give_credit(bytes);
}

void Tcp::drop(ProcessIndex sender, std::uint64_t number) {
    if (auto &connection = place_for(sender, incoming_)) connection->drop(number);
}

void Tcp::tell_departed(ProcessIndex process, std::uint32_t context, int members) {
    to(process).tell_departed(context, members);
}

bool Tcp::progress(Look look) {
    bool moved = doorbell.has_rung() && serve_streams();
    if (++idle_rounds_ > busy_rounds && look == Look::active && idle_rounds_ % rounds_per_look != 0) return moved;
    moved |= !waiting_.empty() && connect_waiting();
    for (const epoll_event &event : descriptors.look()) {
        if (event.data.u64 != key_of(Ready::elsewhere, 0)) idle_rounds_ = 0;
        moved |= handle(event.data.u64);
    }
    if (!strangers_.empty()) close_silent();
    if (!parting_.empty()) [[unlikely]]
        std::erase_if(parting_, [&](ProcessIndex process) { return is_over(process); });
    return moved;
}

bool Tcp::connect_waiting() {
    return std::erase_if(waiting_, [&](ProcessIndex process) {
               return outgoing_[static_cast<std::size_t>(process)]->connect();
           }) > 0;
}

bool Tcp::handle(std::uint64_t key) {
    auto number = static_cast<std::uint32_t>(key);
    switch (static_cast<Ready>(key >> 32)) {
    case Ready::listener:
        return accept(listener_);
    case Ready::other_listener:
        return accept(listeners_[number].socket);
    case Ready::stranger:
        return hear(static_cast<int>(number));
    case Ready::outgoing:
        return outgoing_[number] && outgoing_[number]->serve();
    case Ready::incoming:
        return serve_incoming(number);
    case Ready::ending:
        return serve_ending(number);
    case Ready::watched:
        return true;
    case Ready::grants:
        return grants.timer_ended();
    case Ready::word:
        return word_is_overdue();
    case Ready::elsewhere:
        return false;
    }
    return false;
}

bool Tcp::serve_incoming(std::uint32_t sender) {
    if (!incoming_[sender]) return false;
    bool moved = incoming_[sender]->serve();
    // The process may connect again.
    if (processes.is_of_other_job(static_cast<ProcessIndex>(sender)) && incoming_[sender]->is_gone())
        incoming_[sender].reset();
    return moved;
}

bool Tcp::serve_ending(std::uint32_t number) {
    auto found = ending_.find(number);
    if (found == ending_.end()) return false;
    bool moved = found->second->serve();
    if (found->second->is_gone()) ending_.erase(found);
    return moved;
}

/// Takes the connections that wait. True if one of them turned out to be a rank's.
bool Tcp::accept(const Descriptor &listener) {
    bool moved = false;
    for (int accepted = 0; accepted < most_accepted; accepted++) {
        Descriptor made = accept_from(listener);
        if (!made) {
            if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS) return moved;
            std::string text = std::string("cannot take a TCP connection of another rank: ") + std::strerror(errno);
            if (strangers_.empty()) abort_job_for(text.c_str());
            close(strangers_.begin());
            continue;
        }
        make_room_for_stranger();
        const int descriptor = made.get();
        if (!descriptors.add(descriptor, EPOLLIN, key_of(Ready::stranger, descriptor))) continue;
        strangers_.push_back({.socket = ResponderSocket(std::move(made)), .since_ns = clock_ns()});
        moved |= hear(descriptor);
    }
    return moved;
}

/// Ranks say who they are at once, so the oldest of too many that are silent is not a rank. Of those that have said
/// who they are there are more only if somebody repeats what ranks have said.
void Tcp::make_room_for_stranger() {
    const auto is_silent = [](const Stranger &one) { return !one.socket.is_answered(); };
    const auto silent = static_cast<std::size_t>(std::ranges::count_if(strangers_, is_silent));
    if (silent == most_silent) close(std::ranges::find_if(strangers_, is_silent));
    const std::size_t most_answered = most_silent + 2 * static_cast<std::size_t>(processes.size());
    if (strangers_.size() - silent > most_answered) close(std::ranges::find_if_not(strangers_, is_silent));
}

/// Goes on with a stranger's handshake. True if the stranger turns out to be a rank.
bool Tcp::hear(int descriptor) {
    const auto is_it = [&](const Stranger &one) { return one.descriptor() == descriptor; };
    auto found = std::ranges::find_if(strangers_, is_it);
    if (found == strangers_.end()) return false;
    const HandshakeState state = advance(*found);
    if (state == HandshakeState::going_on) return false;
    if (state == HandshakeState::refused && !found->is_lost) report(*found, "it does not know the secret of this job");
    const bool known = state == HandshakeState::proven && greet(*found);
    close(found);
    return known;
}

/// Goes on with what is said before there is a connection: the handshake and, between jobs on one host, how they share
/// memory.
HandshakeState Tcp::advance(Stranger &stranger) {
    if (!stranger.handover) {
        const auto find_secret = [&](const Introduction &introduction) {
            stranger.is_lost = has_lost_his_way(introduction);
            return secret_for(introduction);
        };
        const HandshakeState state = stranger.socket.advance(find_secret);
        if (state != HandshakeState::proven || !is_on_host(stranger.descriptor()) ||
            stranger.socket.ends().from_job == processes[node.rank].name.job)
            return state;
        stranger.handover = std::make_unique<Handover>(stranger.socket.take(), false);
    }
    return stranger.handover->advance();
}

/// Makes a stranger's connection an Incoming. False if this process has been forgotten meanwhile, or is connected
/// already.
bool Tcp::greet(Stranger &stranger) {
    const ProcessIndex sender = sender_of(stranger.socket.ends());
    if (sender < 0 || node.has_failed(sender)) return false;
    auto &connection = place_for(sender, incoming_);
    // A process of another job that had been forgotten there, and is known again, ends its earlier connection first.
    if (connection && processes.is_of_other_job(sender)) take_end(connection);
    if (connection) {
        report(stranger, "the rank is connected already");
        return false;
    }
    descriptors.remove(stranger.descriptor());
    Handover *over = stranger.handover.get();
    connection = std::make_unique<Incoming>(sender, key_of(Ready::incoming, sender),
                                            over ? over->take_socket() : stranger.socket.take(),
                                            over ? over->take_stream() : nullptr);
    connection->serve();
    return true;
}

void Tcp::close_silent() {
    const std::uint64_t now = clock_ns();
    const auto is_late = [&](const Stranger &one) {
        return !one.socket.is_answered() && now - one.since_ns > longest_silence_ns;
    };
    for (auto late = std::ranges::find_if(strangers_, is_late); late != strangers_.end();
         late = std::ranges::find_if(strangers_, is_late))
        close(late);
}

void Tcp::close(std::vector<Stranger>::iterator stranger) {
    // It has no socket if it is a connection now.
    if (const int descriptor = stranger->descriptor(); descriptor >= 0) descriptors.remove(descriptor);
    strangers_.erase(stranger);
}

/// Says why a stranger is refused: somebody may have taken a wrong turn, or tries to come in.
void Tcp::report(const Stranger &stranger, const char *what) {
    if (reported_++ >= most_reported) return;
    std::fprintf(stderr, "Volley: rank %d has closed a connection from %s: %s%s\n", node.rank,
                 peer_of(stranger.descriptor()).c_str(), what,
                 reported_ == most_reported ? " (further ones are not reported)" : "");
}

/// The other end has ended this connection, and has made another; what it wrote before may still be on its way.
void Tcp::take_end(std::unique_ptr<Incoming> &connection) {
    constexpr timespec between_looks{.tv_sec = 0, .tv_nsec = 100'000};
    for (int looks = 0; looks < most_looks_for_end && !connection->is_gone(); looks++) {
        if (!connection->serve()) nanosleep(&between_looks, nullptr);
    }
    if (connection->is_gone()) connection.reset();
}

bool Tcp::all_written() const {
    return std::ranges::all_of(outgoing_, [](auto &one) { return !one || one->is_written(); }) &&
           std::ranges::all_of(incoming_, [](auto &one) { return !one || one->is_written(); });
}

bool Tcp::all_delivered() const {
    return all_written() && std::ranges::all_of(outgoing_, [](auto &one) { return !one || one->is_delivered(); });
}

void Tcp::leave() {
    for (auto &one : outgoing_)
        if (one) one->say_leaving();
    for (auto &one : incoming_)
        if (one) one->say_leaving();
    auto is_settled = [](auto &one) { return !one || one->is_acknowledged_or_lost(); };
    constexpr timespec between_looks{.tv_sec = 0, .tv_nsec = 1'000'000};
    while (!std::ranges::all_of(outgoing_, is_settled) || !std::ranges::all_of(incoming_, is_settled)) {
        progress(Look::everywhere);
        nanosleep(&between_looks, nullptr);
    }
}

} // namespace volley
