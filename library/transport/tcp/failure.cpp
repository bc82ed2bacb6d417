// SPDX-License-Identifier: BSD-3-Clause
/// What becomes of connections when a process fails, or a communicator is revoked, in a job that outlives that.
#include "transport/abort.h"
#include "transport/message.h"
#include "transport/node.h"
#include "transport/tcp/keys.h"
#include "transport/tcp/tcp.h"
#include "wait/descriptors.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace volley {
namespace {

/// A launcher knows at once of a process that has ended, and after five seconds of a host that is gone.
constexpr itimerspec longest_until_word{.it_interval = {}, .it_value = {.tv_sec = 20, .tv_nsec = 0}};

} // namespace

void Tcp::forget(ProcessIndex process) {
    if (!enabled()) return;
    std::erase(waiting_, process);
    std::erase_if(suspects_, [&](const Suspect &suspect) { return suspect.process == process; });
    // Taken out first: what is ended looks for the connection.
    if (const auto outgoing = std::exchange(place_for(process, outgoing_), nullptr)) outgoing->abandon();
    if (const auto incoming = std::exchange(place_for(process, incoming_), nullptr)) incoming->abandon();
}

bool Tcp::end_sends(const std::function<bool(const Send &)> &is_over, const std::function<int(const Send &)> &code_of) {
    bool ended = false;
    for (std::size_t process = 0; process < outgoing_.size(); process++)
        if (outgoing_[process]) ended |= outgoing_[process]->end_sends(is_over, code_of);
    return ended;
}

void Tcp::suspect(ProcessIndex process, std::string reason) {
    const auto is_it = [&](const Suspect &suspect) { return suspect.process == process; };
    if (node.has_failed(process) || std::ranges::any_of(suspects_, is_it)) return;
    suspects_.push_back({process, std::move(reason)});
    if (!word_timer_) {
        word_timer_ = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
        if (!word_timer_ || !descriptors.add(word_timer_.get(), EPOLLIN, key_of(Ready::word, 0)))
            abort_job_for("the system has no room for a timer of the TCP connections");
    }
    timerfd_settime(word_timer_.get(), 0, &longest_until_word, nullptr);
}

/// Both processes live, but do not reach each other.
bool Tcp::word_is_overdue() {
    std::uint64_t times;
    if (read(word_timer_.get(), &times, sizeof times) != sizeof times) return false;
    for (const Suspect &suspect : suspects_)
        if (!node.has_failed(suspect.process)) abort_job_for(suspect.reason.c_str());
    return false;
}

} // namespace volley
