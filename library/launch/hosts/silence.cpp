// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/silence.h"

#include <sys/socket.h>

#include <algorithm>

#include "boot/sockets.h"

namespace volley::launch {
namespace {

/// Leaves an answer, and one SYN that is lost and repeated after a second, the rest of longest_silence.
constexpr std::chrono::milliseconds until_question{1500};
constexpr std::chrono::milliseconds between_questions{1000};
/// Whoever has not looked for so long has been stopped himself, and knows nothing of the other's silence.
constexpr std::chrono::milliseconds own_pause{2500};

} // namespace

void Silence::ask_at(const NetworkAddress &address, std::vector<std::uint32_t> ports) {
    address_ = address;
    ports_ = std::move(ports);
}

void Silence::heard() {
    heard_ = Clock::now();
    question_.reset();
}

void Silence::watch(std::vector<pollfd> &watched) const {
    if (question_) watched.push_back({question_.get(), POLLOUT, 0});
}

Presence Silence::look() {
    const auto now = Clock::now();
    if (now - looked_ > own_pause) heard();
    looked_ = now;
    const auto silence = now - heard_;
    if (!ports_.empty() && silence > until_question) {
        if (question_) take_answer(now);
        if (!question_ && now - asked_ >= between_questions) ask(now);
    }
    if (now - std::max(heard_, answered_) > longest_silence) return Presence::gone;
    return silence > longest_silence ? Presence::frozen : Presence::present;
}

/// Each time at another port: some of the processes may have ended.
void Silence::ask(Clock::time_point now) {
    asked_ = now;
    question_ = connect_to(address_, static_cast<std::uint16_t>(ports_[next_port_++ % ports_.size()]));
}

void Silence::take_answer(Clock::time_point now) {
    pollfd ready = {question_.get(), POLLOUT, 0};
    if (poll(&ready, 1, 0) == 0) {
        if (now - asked_ >= longest_silence) question_.reset(); // nobody will answer it
        return;
    }
    int reason = 0;
    socklen_t bytes = sizeof reason;
    if (getsockopt(question_.get(), SOL_SOCKET, SO_ERROR, &reason, &bytes) == 0 && reason == 0) answered_ = now;
    question_.reset();
}

} // namespace volley::launch
