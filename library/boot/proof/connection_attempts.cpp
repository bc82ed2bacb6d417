// SPDX-License-Identifier: BSD-3-Clause
#include "boot/proof/connection_attempts.h"

#include "boot/foreign/host_socket.h"
#include "boot/sockets.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace volley {
namespace {

/// The least that RFC 8305 recommends: longer than the way to a host of the same cluster and back takes, and short for
/// a person.
constexpr std::chrono::milliseconds between_attempts{100};
/// Somebody has taken the connection, but does not answer: mostly the right one, who computes meanwhile.
constexpr std::chrono::milliseconds longest_silence{1000};
/// An attempt fails for a reason that passes, or the receiver is gone, which the next one finds out.
constexpr int most_attempts = 16;

bool was_closed(HandshakeState state, int reason) {
    return state == HandshakeState::closed && (reason == 0 || reason == ECONNRESET || reason == EPIPE);
}

bool is_no_way(int reason) {
    return reason == ETIMEDOUT || reason == EHOSTUNREACH || reason == ENETUNREACH;
}

} // namespace

std::vector<Place> places_at(const NodeRecord &node, std::uint16_t port) {
    std::vector<Place> places;
    for (const NetworkAddress &address : node.addresses)
        if (address.family != 0) places.push_back({address, port});
    if (places.empty()) places.push_back({loopback_address(), port}); // all ranks are on one host
    return places;
}

ConnectionAttempts::ConnectionAttempts(std::vector<Place> places, std::atomic<std::uint32_t> *preferred,
                                       const Secret &secret, const HandshakeEnds &ends, Watch watch)
    : places_(std::move(places)), preferred_(preferred), secret_(secret), ends_(ends), watch_(std::move(watch)),
      trusted_(places_.size()), outcomes_(places_.size()) {
    for (std::size_t place = 0; place < places_.size(); place++) to_start_.push_back(place);
    const std::uint32_t first = preferred_ != nullptr ? preferred_->load(std::memory_order_relaxed) : 0;
    if (first == 0 || first > places_.size()) return;
    trusted_ = first - 1;
    std::erase(to_start_, trusted_);
    to_start_.push_front(trusted_);
}

ConnectionAttempts::~ConnectionAttempts() {
    end_all();
}

HandshakeState ConnectionAttempts::advance() {
    std::uint64_t times = 0;
    while (timer_ && read(timer_.get(), &times, sizeof times) > 0) {}
    do {
        if (advance_all()) return HandshakeState::proven;
    } while (start_if_due());
    if (attempts_.empty()) return HandshakeState::closed;
    set_timer();
    return HandshakeState::going_on;
}

/// True if one has proved to be who is wanted.
bool ConnectionAttempts::advance_all() {
    for (auto one = attempts_.begin(); one != attempts_.end();) {
        HandshakeState state = one->socket.advance();
        int reason = errno;
        if (state == HandshakeState::proven) {
            win(*one);
            return true;
        }
        const bool goes_on = state == HandshakeState::going_on;
        if (goes_on && watch(*one, one->socket.is_connecting() ? EPOLLIN | EPOLLOUT : EPOLLIN)) {
            ++one;
            continue;
        }
        if (goes_on) reason = errno;
        watch(*one, 0);
        const std::size_t place = one->place;
        one = attempts_.erase(one);
        failed(place, goes_on ? HandshakeState::closed : state, reason);
    }
    return false;
}

bool ConnectionAttempts::start_if_due() {
    if (to_start_.empty() || !is_due()) return false;
    const std::size_t place = to_start_.front();
    to_start_.pop_front();
    is_next_at_once_ = false;
    start(place);
    return true;
}

bool ConnectionAttempts::is_due() const {
    return attempts_.empty() || is_next_at_once_ || Clock::now() >= due();
}

ConnectionAttempts::Clock::time_point ConnectionAttempts::due() const {
    const auto is_connected = [](const Attempt &one) { return !one.socket.is_connecting(); };
    const auto connected = std::ranges::find_if(attempts_, is_connected);
    if (connected == attempts_.end()) return started_ + between_attempts;
    // Who has it is known: he need not hurry.
    if (connected->place == trusted_) return Clock::time_point::max();
    return started_ + longest_silence;
}

void ConnectionAttempts::start(std::size_t number) {
    const Place &place = places_[number];
    Outcome &outcome = outcomes_[number];
    outcome.attempts++;
    if (!to_start_.empty() || !attempts_.empty()) started_ = Clock::now();
    Descriptor socket;
    if (place.host_socket != 0) socket = try_to_connect_on_host(place.host_socket);
    if (!socket) socket = connect_to(place.address, place.port);
    if (!socket) return failed(number, HandshakeState::closed, errno);
    // Once it has failed, the kernel does not tell it any more.
    if (const auto own = own_address_of(socket.get())) outcome.from = text_of(*own);
    attempts_.push_back({number, InitiatorSocket(std::move(socket), secret_, ends_)});
}

bool ConnectionAttempts::watch(Attempt &attempt, std::uint32_t events) {
    if (attempt.events == events) return true;
    return watch_(attempt.socket.descriptor(), std::exchange(attempt.events, events), events);
}

void ConnectionAttempts::win(Attempt &attempt) {
    if (preferred_ != nullptr)
        preferred_->store(static_cast<std::uint32_t>(attempt.place) + 1, std::memory_order_relaxed);
    watch(attempt, 0);
    winner_ = attempt.socket.take();
    end_all();
}

void ConnectionAttempts::failed(std::size_t place, HandshakeState state, int reason) {
    Outcome &outcome = outcomes_[place];
    const bool is_to_be_repeated = was_closed(state, reason) && outcome.attempts < most_attempts;
    if (state == HandshakeState::refused)
        outcome.reason = "who takes connections there does not know the secret of this job";
    else if (was_closed(state, reason))
        outcome.reason = "it was closed before the other end had said who it is";
    else
        outcome.reason = std::strerror(reason);
    may_be_filtered_ |= is_no_way(reason) && state == HandshakeState::closed;
    if (is_to_be_repeated) to_start_.push_back(place);
    // What has been closed once waits for its turn, so as not to be asked all the time while others are under way.
    is_next_at_once_ = !to_start_.empty() && outcomes_[to_start_.front()].attempts == 0;
}

void ConnectionAttempts::set_timer() {
    if (to_start_.empty() || due() == Clock::time_point::max()) return;
    if (!timer_) {
        timer_ = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
        // Without one the next begins when something comes of those that are under way.
        if (!timer_ || !watch_(timer_.get(), 0, EPOLLIN)) return timer_.reset();
    }
    const auto nanoseconds = std::chrono::nanoseconds(due().time_since_epoch()).count();
    constexpr std::int64_t second = 1'000'000'000;
    const itimerspec at{.it_interval = {},
                        .it_value = {.tv_sec = nanoseconds / second, .tv_nsec = nanoseconds % second}};
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
}

/// Closing is not enough if a child of fork has a socket, too.
void ConnectionAttempts::end_all() {
    for (Attempt &one : attempts_)
        if (one.socket.descriptor() >= 0) watch(one, 0);
    attempts_.clear();
    if (timer_) watch_(timer_.get(), EPOLLIN, 0);
    timer_.reset();
}

std::string ConnectionAttempts::problem() const {
    std::string text = "cannot connect";
    for (std::size_t number = 0; number < places_.size(); number++) {
        const Place &place = places_[number];
        const Outcome &outcome = outcomes_[number];
        text += (number == 0 ? " to " : ", nor to ") + text_of(place.address) + " port " + std::to_string(place.port) +
                (outcome.from.empty() ? "" : " from " + outcome.from) + ": " + outcome.reason;
    }
    return text;
}

} // namespace volley
