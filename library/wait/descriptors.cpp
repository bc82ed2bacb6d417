// SPDX-License-Identifier: BSD-3-Clause
#include "wait/descriptors.h"

#include "boot/abstract_name.h"
#include "boot/error.h"
#include "wait/doorbell.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace volley {
namespace {

/// More than the kernel queues by default for such a socket.
constexpr int most_read = 64;

} // namespace

Descriptors descriptors;

void Descriptors::open(RankRecord &own) {
    set_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
    if (!set_) throw system_error("cannot make a set of descriptors to wait for");
    wake_up_ = Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const std::uint32_t number = bind_to_any_name(wake_up_);
    if (number == 0) throw system_error("cannot make the socket by which others wake this rank");
    own.wake_up_socket.store(number, std::memory_order_release);
}

bool Descriptors::open_to_wake() {
    if (!wake_up_) wake_up_ = Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    return static_cast<bool>(wake_up_);
}

bool Descriptors::add(int descriptor, std::uint32_t events, std::uint64_t key) {
    epoll_event event{.events = events, .data = {.u64 = key}};
    return epoll_ctl(set_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Descriptors::change(int descriptor, std::uint32_t events, std::uint64_t key) {
    epoll_event event{.events = events, .data = {.u64 = key}};
    epoll_ctl(set_.get(), EPOLL_CTL_MOD, descriptor, &event);
}

void Descriptors::remove(int descriptor) {
    epoll_ctl(set_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

std::span<const epoll_event> Descriptors::look() {
    int found = epoll_wait(set_.get(), ready_, static_cast<int>(std::size(ready_)), 0);
    if (found <= 0) return {};
    found_++;
    return {ready_, static_cast<std::size_t>(found)};
}

bool Descriptors::sleep(const std::atomic<std::uint32_t> &wake, std::uint32_t seen, const timespec &longest) {
    // The thread that slept here before may have taken the byte that came with this change.
    if (wake.load(std::memory_order_acquire) != seen) return true;
    if (may_sleep_ != nullptr && !may_sleep_()) return true;
    if (Doorbell *own = doorbell_.load(std::memory_order_acquire); own != nullptr && !own->announce_sleep())
        return true;
    std::array<pollfd, 2> watched{pollfd{.fd = set_.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = wake_up_.get(), .events = POLLIN, .revents = 0}};
    bool woken = ppoll(watched.data(), watched.size(), &longest, nullptr) != 0;
    if (watched[1].revents != 0) {
        // All there are, unless somebody writes faster than this can read.
        char byte;
        for (int read = 0; read < most_read && recv(wake_up_.get(), &byte, 1, 0) >= 0; read++) {}
    }
    return woken;
}

bool Descriptors::has_unread_byte() const {
    pollfd watched{.fd = wake_up_.get(), .events = POLLIN, .revents = 0};
    return wake_up_ && poll(&watched, 1, 0) > 0;
}

void Descriptors::wake_up(std::uint32_t number) {
    const AbstractName name(number);
    char byte = 0;
    // If the socket has no room, the rank has bytes yet to read: it is awake, or about to be. If nobody has that name,
    // the rank has ended.
    sendto(wake_up_.get(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL, name.get(), name.bytes);
}

} // namespace volley
