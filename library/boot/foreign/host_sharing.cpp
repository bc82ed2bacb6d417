// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/host_sharing.h"

#include "boot/error.h"
#include "boot/foreign/host_socket.h"
#include "boot/foreign/launcher.h"
#include "boot/handed_descriptors.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <utility>

namespace volley {
namespace {

/// What a guest says first; the list of its processors follows.
struct Greeting {
    std::uint64_t magic; ///< arena_magic
    std::int32_t rank;
    std::uint32_t bytes; ///< of the list
};

constexpr std::uint32_t longest_list = 1 << 16;
/// A guest says all at once.
constexpr timeval longest_silence{.tv_sec = 1, .tv_usec = 0};
static_assert(1 + most_addresses <= most_handed);

/// Nothing was said, or something else: no guest.
bool read_greeting(const Descriptor &socket, HostFirst::Guest &guest) {
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &longest_silence, sizeof longest_silence);
    Greeting greeting;
    if (!is_of_same_user(socket) || !read_all(socket, &greeting, sizeof greeting) || greeting.magic != arena_magic ||
        greeting.bytes > longest_list)
        return false;
    guest.rank = greeting.rank;
    guest.processors.resize(greeting.bytes);
    return read_all(socket, guest.processors.data(), greeting.bytes);
}

} // namespace

HostFirst::HostFirst() : listener_(listen_on_host("by which ranks of this host share memory", number_)) {}

std::vector<HostFirst::Guest> HostFirst::receive_guests(std::size_t count) {
    std::vector<Guest> guests;
    while (guests.size() < count) {
        pollfd watched{.fd = listener_.get(), .events = POLLIN, .revents = 0};
        if (poll(&watched, 1, -1) < 0 && errno != EINTR) throw system_error("cannot wait for the other ranks");
        Guest guest{.rank = -1, .processors = {}, .socket = {}};
        guest.socket = Descriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (guest.socket && read_greeting(guest.socket, guest)) guests.push_back(std::move(guest));
    }
    return guests;
}

void HostFirst::hand(const Guest &guest, int arena, std::uint64_t address, const std::vector<Descriptor> &listeners) {
    std::vector<int> descriptors = {arena};
    for (const Descriptor &listener : listeners) descriptors.push_back(listener.get());
    if (send_with_descriptors(guest.socket, &address, sizeof address, descriptors, 0) < 0)
        throw system_error("cannot hand the memory that ranks share to rank " + std::to_string(guest.rank));
}

HostGuest::HostGuest(std::uint32_t number, int rank, const std::string &processors)
    : socket_(connect_on_host(number, "the first rank of this host")) {
    const Greeting greeting{.magic = arena_magic, .rank = rank, .bytes = static_cast<std::uint32_t>(processors.size())};
    if (!write_all(socket_, &greeting, sizeof greeting) || !write_all(socket_, processors.data(), processors.size()))
        throw system_error("cannot talk to the first rank of this host");
}

Handed HostGuest::receive() {
    Handed handed;
    std::vector<Descriptor> descriptors;
    ssize_t got = 0;
    do got = receive_with_descriptors(socket_, &handed.address, sizeof handed.address, descriptors, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno != ECONNRESET) throw system_error("cannot hear from the first rank of this host");
    if (got != static_cast<ssize_t>(sizeof handed.address) || descriptors.empty())
        throw Gone("the first rank of this host has ended before it could share memory with this one");
    handed.arena = std::move(descriptors.front());
    descriptors.erase(descriptors.begin());
    handed.listeners = std::move(descriptors);
    return handed;
}

} // namespace volley
