// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/tcp.h"

#include "transport/abort.h"
#include "transport/message.h"
#include "transport/node.h"
#include "wait/clock.h"
#include "wait/descriptors.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace volley {
namespace {

constexpr std::size_t most_strangers = 64;
constexpr std::uint64_t longest_silence_ns = 5'000'000'000;
/// At most so many connections are accepted in a row, so that they do not keep the rank from its messages.
constexpr int most_accepted = 16;

/// A look at the descriptors is a system call of some 0.3 us, and a message by TCP takes 10 us or more. So when nothing
/// has been ready for as many rounds as such a message may take, a spinning rank looks at its memory some times in
/// between, which takes less.
constexpr std::uint32_t busy_rounds = 128;
constexpr std::uint32_t rounds_per_look = 16;

/// What is ready is found by its key: a kind and a process or descriptor.
enum class Ready : std::uint32_t { listener, stranger, outgoing, incoming };

/// The place of a process's connection, made if the table of processes has grown.
template <class Connections> auto &place_for(ProcessIndex process, Connections &connections) {
    auto index = static_cast<std::size_t>(process);
    if (index >= connections.size()) connections.resize(index + 1);
    return connections[index];
}

std::uint64_t key_of(Ready kind, int number) {
    return static_cast<std::uint64_t>(kind) << 32 | static_cast<std::uint32_t>(number);
}

/// Compares in the same time wherever the first difference is.
bool is_secret(const unsigned char *shown) {
    unsigned differences = 0;
    for (std::size_t i = 0; i < secret_bytes; i++)
        differences |= static_cast<unsigned>(shown[i] ^ node.arena->secret[i]);
    return differences == 0;
}

} // namespace

Tcp tcp;

NetworkAddress address_of(std::int32_t number) {
    const NetworkAddress &published = node_records(node.arena)[number].address;
    return published.family != 0 ? published : loopback_address();
}

void Tcp::open(Descriptor listener) {
    if (enabled()) return;
    descriptors.open(*node.own);
    const bool is_published = static_cast<bool>(listener);
    std::uint16_t port = 0;
    listener_ = is_published ? std::move(listener) : listen_at(address_of(node.number()), port);
    if (!descriptors.add(listener_.get(), EPOLLIN, key_of(Ready::listener, 0)))
        abort_job_for("the system has no room to watch for TCP connections");
    if (is_published) return;
    node.own->tcp_port.store(port, std::memory_order_release);
    node.wake_all(); // messages may wait for the port
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
    incoming_[static_cast<std::size_t>(sender)]->fetch(receive, number, wanted);
}

void Tcp::received(ProcessIndex sender, Count bytes) {
    incoming_[static_cast<std::size_t>(sender)]->give_credit(bytes);
}

void Tcp::drop(ProcessIndex sender, std::uint64_t number) {
    incoming_[static_cast<std::size_t>(sender)]->drop(number);
}

void Tcp::tell_departed(ProcessIndex process, std::uint32_t context, int members) {
    to(process).tell_departed(context, members);
}

bool Tcp::progress(Look look) {
    if (++idle_rounds_ > busy_rounds && look == Look::active && idle_rounds_ % rounds_per_look != 0) return false;
    bool moved = !waiting_.empty() && connect_waiting();
    for (const epoll_event &event : descriptors.look()) {
        idle_rounds_ = 0;
        moved |= handle(event.data.u64);
    }
    if (!strangers_.empty()) close_silent();
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
        return accept();
    case Ready::stranger:
        return hear(static_cast<int>(number));
    case Ready::outgoing:
        return outgoing_[number]->serve();
    case Ready::incoming:
        return incoming_[number]->serve();
    }
    return false;
}

/// Takes the connections that wait. True if one of them turned out to be a rank's.
bool Tcp::accept() {
    bool moved = false;
    for (int accepted = 0; accepted < most_accepted; accepted++) {
        Descriptor made = accept_from(listener_);
        if (!made) {
            if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS) return moved;
            std::string text = std::string("cannot take a TCP connection of another rank: ") + std::strerror(errno);
            abort_job_for(text.c_str());
        }
        // Ranks say who they are at once, so the oldest of too many strangers is not a rank.
        if (strangers_.size() == most_strangers) close(strangers_.begin());
        const int descriptor = made.get();
        if (!descriptors.add(descriptor, EPOLLIN, key_of(Ready::stranger, descriptor))) continue;
        strangers_.push_back({.socket = std::move(made), .since_ns = clock_ns()});
        moved |= hear(descriptor);
    }
    return moved;
}

/// Reads what a stranger says. True if the stranger turns out to be a rank.
bool Tcp::hear(int descriptor) {
    auto found = std::ranges::find_if(strangers_, [&](const Stranger &one) { return one.socket.get() == descriptor; });
    if (found == strangers_.end()) return false;
    Stranger &stranger = *found;
    ssize_t got = recv(descriptor, stranger.hello + stranger.got, sizeof stranger.hello - stranger.got, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    stranger.got += got > 0 ? static_cast<std::size_t>(got) : 0;
    if (got > 0 && stranger.got < sizeof stranger.hello) return false;
    bool known = got > 0 && greet(stranger);
    close(found);
    return known;
}

/// Makes a stranger's connection an Incoming. False if the stranger is not a rank of this job that sends by TCP, or
/// already has a connection.
bool Tcp::greet(Stranger &stranger) {
    wire::Hello hello;
    std::memcpy(&hello, stranger.hello, sizeof hello);
    if (hello.magic != wire::magic || hello.version != wire::version || !is_secret(hello.secret)) return false;
    if (hello.rank >= static_cast<std::uint32_t>(processes.ranks())) return false;
    ProcessIndex sender = processes.find({.rank = static_cast<std::int32_t>(hello.rank)});
    auto &connection = place_for(sender, incoming_);
    if (processes[sender].transport != Transport::tcp || connection) return false;
    descriptors.remove(stranger.socket.get());
    connection = std::make_unique<Incoming>(sender, key_of(Ready::incoming, sender), std::move(stranger.socket));
    connection->serve();
    return true;
}

void Tcp::close_silent() {
    std::uint64_t now = clock_ns();
    while (!strangers_.empty() && now - strangers_.front().since_ns > longest_silence_ns) close(strangers_.begin());
}

void Tcp::close(std::vector<Stranger>::iterator stranger) {
    if (stranger->socket) descriptors.remove(stranger->socket.get()); // else it is a connection now
    strangers_.erase(stranger);
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
    auto is_settled = [](auto &one) { return !one || one->is_acknowledged(); };
    constexpr timespec between_looks{.tv_sec = 0, .tv_nsec = 1'000'000};
    while (!std::ranges::all_of(outgoing_, is_settled) || !std::ranges::all_of(incoming_, is_settled)) {
        progress(Look::everywhere);
        nanosleep(&between_looks, nullptr);
    }
}

} // namespace volley
