// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/relay.h"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "boot/error.h"
#include "boot/sockets.h"

namespace volley::launch {
namespace {

/// As for strangers at a rank's own socket (transport/tcp/tcp.cpp).
constexpr std::chrono::seconds longest_silence_of_stranger{5};
constexpr std::size_t most_silent = 64;
constexpr int most_notes = 8;
/// So that those who connect do not keep the relay from its messages.
constexpr int most_accepted = 16;

/// Read at a time: no more than a core's own cache holds, from where it is written.
constexpr std::size_t scratch_bytes = 256 << 10;
constexpr int most_events = 64;

/// How often to ask the kernel whether another host has received the last bytes, of which it gives no notice.
constexpr int look_for_end_ms = 1;

bool is_out_of(int reason) {
    return reason == EMFILE || reason == ENFILE || reason == ENOMEM || reason == ENOBUFS || reason == EADDRNOTAVAIL;
}

/// The kernel at the other end has received all that was written.
bool is_acknowledged(int socket) {
    int bytes = 0;
    return ioctl(socket, SIOCOUTQ, &bytes) != 0 || bytes == 0;
}

} // namespace

void say_to_launcher(const Descriptor &launcher, RelayWord word, const std::string &text) {
    const std::string line = static_cast<char>(word) + text;
    send(launcher.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Relay::Relay(const Arena &arena, std::vector<Descriptor> listeners, Descriptor local, const Descriptor &orders)
    : arena_(arena), listeners_(std::move(listeners)), local_(std::move(local)), orders_(orders),
      ready_(epoll_create1(EPOLL_CLOEXEC)), scratch_(scratch_bytes) {
    std::ranges::copy(arena.head()->secret, secret_.begin());
    End unwatched;
    for (std::uint32_t number = 0; number < listeners_.size(); number++) {
        watch(listeners_[number].get(), unwatched, EPOLLIN, key_of(Ready::listener, number));
        unwatched = {};
    }
    watch(local_.get(), unwatched, EPOLLIN, key_of(Ready::local, 0));
    unwatched = {};
    watch(orders_.get(), unwatched, EPOLLIN, key_of(Ready::orders, 0));
}

void Relay::run() {
    std::array<epoll_event, most_events> events{};
    do {
        const int count = epoll_wait(ready_.get(), events.data(), most_events, timeout_ms());
        for (int event = 0; event < count; event++) {
            const epoll_event &one = events[static_cast<std::size_t>(event)];
            take(one.data.u64, one.events);
        }
        close_silent();
        if (is_finishing_) finish();
    } while (!is_finishing_ || !connections_.empty());
}

std::uint64_t Relay::key_of(Ready kind, std::uint32_t number) {
    return static_cast<std::uint64_t>(kind) << 32 | number;
}

void Relay::take(std::uint64_t key, std::uint32_t events) {
    const auto kind = static_cast<Ready>(key >> 32);
    const auto number = static_cast<std::uint32_t>(key);
    if (kind == Ready::listener) return accept(listeners_[number]);
    if (kind == Ready::local) return accept(local_);
    if (kind == Ready::stranger) return hear(number);
    if (kind == Ready::orders) {
        is_finishing_ = true;
        epoll_ctl(ready_.get(), EPOLL_CTL_DEL, orders_.get(), nullptr);
        return;
    }
    const auto found = connections_.find(number);
    if (found == connections_.end()) return;
    if (serve(found->second, kind, events))
        watch(found->second, number);
    else
        connections_.erase(found);
}

int Relay::timeout_ms() const {
    if (is_finishing_) return look_for_end_ms;
    const auto silent = first_silent();
    return silent == strangers_.end() ? -1 : milliseconds_until(silent->second.until);
}

void Relay::accept(const Descriptor &listener) {
    for (int accepted = 0; accepted < most_accepted; accepted++) {
        Descriptor made = accept_from(listener);
        if (!made && is_out_of(errno))
            throw Error(std::string("messages between ranks can take no further connection: ") + std::strerror(errno) +
                        " (with --transport daemon there are two for each pair of ranks that talks: is the limit of "
                        "open files, ulimit -n, too low?)");
        if (!made) return;
        make_room_for_stranger();
        const std::uint32_t number = next_++;
        End unwatched;
        watch(made.get(), unwatched, EPOLLIN, key_of(Ready::stranger, number));
        strangers_.emplace(number,
                           Stranger{ResponderSocket(std::move(made)), Clock::now() + longest_silence_of_stranger});
        hear(number);
    }
}

/// A rank may take its time to prove who it is: its program may be computing.
Relay::Strangers::const_iterator Relay::first_silent() const {
    return std::ranges::find_if(strangers_, [](const auto &one) { return !one.second.socket.is_answered(); });
}

void Relay::make_room_for_stranger() {
    const std::size_t most = most_silent + 2 * std::size_t{arena_.head()->ranks_here} * arena_.head()->ranks;
    const auto is_silent = [](const auto &one) { return !one.second.socket.is_answered(); };
    const auto silent = static_cast<std::size_t>(std::ranges::count_if(strangers_, is_silent));
    if (silent >= most_silent) strangers_.erase(first_silent());
    if (strangers_.size() >= most) strangers_.erase(strangers_.begin());
}

void Relay::close_silent() {
    const auto now = Clock::now();
    for (auto silent = first_silent(); silent != strangers_.end() && silent->second.until <= now;
         silent = first_silent())
        strangers_.erase(silent);
}

void Relay::hear(std::uint32_t number) {
    const auto found = strangers_.find(number);
    if (found == strangers_.end()) return;
    ResponderSocket &socket = found->second.socket;
    bool is_lost = false;
    const auto find_secret = [&](const Introduction &introduction) {
        is_lost = has_lost_its_way(introduction);
        return secret_for(introduction);
    };
    const HandshakeState state = socket.advance(find_secret);
    if (state == HandshakeState::going_on) return;
    if (state == HandshakeState::refused && !is_lost)
        note("a connection for messages from " + peer_of(socket.descriptor()) +
             " was closed: it does not know the secret of this job");
    if (state == HandshakeState::proven) {
        epoll_ctl(ready_.get(), EPOLL_CTL_DEL, socket.descriptor(), nullptr);
        Connection made{.ends = socket.ends(), .hop = next_hop(socket.ends().to_rank), .near = {socket.take()}};
        if (connect(made, number)) watch(connections_.emplace(number, std::move(made)).first->second, number);
    }
    strangers_.erase(found);
}

std::optional<Secret> Relay::secret_for(const Introduction &introduction) const {
    if (!is_wanted(introduction.ends) || !are_equal(introduction.secret, name_of(secret_))) return std::nullopt;
    return secret_;
}

/// Another relay has tried an address that both hosts have, and goes on to the next.
bool Relay::has_lost_its_way(const Introduction &introduction) const {
    const std::uint64_t job = job_number(*arena_.head());
    return introduction.ends.to_job == job && !is_wanted(introduction.ends) &&
           are_equal(introduction.secret, name_of(secret_));
}

/// One of the two is here. If neither were, relays could hand a message round for ever.
bool Relay::is_wanted(const HandshakeEnds &ends) const {
    const std::uint64_t job = job_number(*arena_.head());
    const auto is_rank = [this](std::int32_t rank) { return rank >= 0 && rank < arena_.ranks(); };
    return ends.from_job == job && ends.to_job == job && is_rank(ends.from_rank) && is_rank(ends.to_rank) &&
           (is_here(ends.from_rank) || is_here(ends.to_rank));
}

bool Relay::is_here(int rank) const {
    return arena_.head()->node < 0 || arena_.record(rank).node == arena_.head()->node;
}

Relay::Hop Relay::next_hop(int rank) const {
    const RankRecord &record = arena_.record(rank);
    const NodeRecord &node = arena_.node(record.node);
    if (is_here(rank)) {
        Place place = places_at(node, static_cast<std::uint16_t>(record.tcp_port)).front();
        place.host_socket = record.relay_socket;
        return {.places = {place}, .is_relay = false, .node = record.node};
    }
    Hop hop{
        .places = places_at(node, static_cast<std::uint16_t>(node.relay_port)), .is_relay = true, .node = record.node};
    // This relay would take a connection to itself for one of a rank. Such places are tried last, so the order stays.
    std::erase_if(hop.places, [this](const Place &place) { return is_own(place); });
    return hop;
}

bool Relay::is_own(const Place &place) const {
    if (arena_.head()->node < 0) return false;
    const NodeRecord &own = arena_.node(arena_.head()->node);
    return place.port == own.relay_port && std::ranges::any_of(own.addresses, [&](const NetworkAddress &address) {
               return std::memcmp(&address, &place.address, sizeof address) == 0;
           });
}

/// False if there is nothing more to be done for the connection; the same of what follows.
bool Relay::connect(Connection &connection, std::uint32_t number) {
    const auto watch = [this, number](int socket, std::uint32_t before, std::uint32_t events) {
        epoll_event wanted{.events = events, .data = {.u64 = key_of(Ready::far, number)}};
        const int how = before == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
        return epoll_ctl(ready_.get(), how, socket, &wanted) == 0;
    };
    std::atomic<std::uint32_t> &preferred = arena_.node(connection.hop.node).preferred_address;
    connection.attempts = std::make_unique<ConnectionAttempts>(
        connection.hop.places, connection.hop.is_relay ? &preferred : nullptr, secret_, connection.ends, watch);
    return shake_hands(connection);
}

bool Relay::shake_hands(Connection &connection) const {
    const HandshakeState state = connection.attempts->advance();
    if (state == HandshakeState::going_on) return true;
    const auto attempts = std::exchange(connection.attempts, nullptr);
    if (state != HandshakeState::proven) return failed(connection.hop, attempts->problem());
    connection.far = {attempts->take()};
    connection.forth.write(connection.far.socket.get());
    return true;
}

/// A rank that does not take the connection has ended, which the launcher notices.
bool Relay::failed(const Hop &hop, const std::string &reason) const {
    if (!hop.is_relay || is_finishing_) return false;
    throw Error("messages cannot get to the node daemon of host " + std::string(arena_.node(hop.node).host) + ": " +
                reason +
                " (a firewall, or a network that leads nowhere? let hosts of the job connect to all ports, or name "
                "another network with --interface)");
}

bool Relay::serve(Connection &connection, Ready side, std::uint32_t events) {
    Connection &one = connection;
    if (side == Ready::far && one.attempts) return shake_hands(one);
    const int near = one.near.socket.get(), far = one.far.socket.get();
    const bool is_near = side == Ready::near;
    Flow &in = is_near ? one.forth : one.back, &out = is_near ? one.back : one.forth;
    const int own = is_near ? near : far, other = is_near ? far : near;
    if ((events & ~EPOLLOUT) != 0) in.read(own, other, scratch_);
    if ((events & ~EPOLLIN) != 0 && out.wants_to_write()) out.write(own);
    return !one.forth.is_over() || !one.back.is_over();
}

/// What nothing is wanted of is not watched at all: that it has ended would be told again and again.
void Relay::watch(Connection &connection, std::uint32_t number) {
    const auto events = [](const Flow &in, const Flow &out) {
        return (in.wants_to_read() ? EPOLLIN : 0U) | (out.wants_to_write() ? EPOLLOUT : 0U);
    };
    Connection &one = connection;
    watch(one.near.socket.get(), one.near, events(one.forth, one.back), key_of(Ready::near, number));
    if (!one.attempts) watch(one.far.socket.get(), one.far, events(one.back, one.forth), key_of(Ready::far, number));
}

void Relay::watch(int socket, End &end, std::uint32_t events, std::uint64_t key) const {
    if (events == end.events) return;
    epoll_event wanted{.events = events, .data = {.u64 = key}};
    const int change = end.events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    end.events = events;
    if (epoll_ctl(ready_.get(), change, socket, &wanted) != 0)
        throw system_error("the system has no room to watch connections for messages (epoll_ctl)");
}

void Relay::finish() {
    strangers_.clear();
    for (auto one = connections_.begin(); one != connections_.end();)
        one = is_finished(one->second) ? connections_.erase(one) : std::next(one);
}

/// What ranks of this host have sent is still to get to other hosts; nobody is left for what comes.
bool Relay::is_finished(Connection &connection) {
    Connection &one = connection;
    const bool goes_forth = one.hop.is_relay;
    if (!goes_forth && is_here(one.ends.from_rank)) return true;
    if (one.attempts) return !goes_forth;
    Flow &sent = goes_forth ? one.forth : one.back, &unwanted = goes_forth ? one.back : one.forth;
    const int here = (goes_forth ? one.near : one.far).socket.get();
    const int elsewhere = (goes_forth ? one.far : one.near).socket.get();
    while (sent.read(here, elsewhere, scratch_)) {}
    while (unwanted.read(elsewhere, here, scratch_)) {}
    return unwanted.has_ended() || (!sent.wants_to_write() && is_acknowledged(elsewhere));
}

void Relay::note(const std::string &text) {
    if (noted_++ >= most_notes) return;
    say_to_launcher(orders_, RelayWord::note, text + (noted_ == most_notes ? " (further ones are not reported)" : ""));
}

} // namespace volley::launch
