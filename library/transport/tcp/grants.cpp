// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/grants.h"

#include "transport/abort.h"
#include "transport/node.h"
#include "wait/clock.h"
#include "wait/descriptors.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <utility>

namespace volley {
namespace {

/// A piece takes so long. Two of them are 50 KB at 100 Mbit/s; what a rank needs to answer is some tenths of it.
constexpr std::uint64_t piece_ns = 2'000'000;
/// A shorter time says more about when this rank looks than about the line.
constexpr std::uint64_t shortest_measured_ns = 1'000'000;
/// Pieces under way, in all, and from a sender that is the only one.
constexpr Count pieces_at_once = 2;
constexpr Count pieces_when_alone = 8;
/// If nothing comes for so long, what is under way does not count any more. A sender may have a dozen pieces to send to
/// others first.
constexpr std::uint64_t patience_ns = 25'000'000;
/// So many messages of one sender and none of another: one that is busy with others' has some between.
constexpr int enough_in_a_row = 4;

} // namespace

void PieceLength::count(Count bytes, std::uint64_t now_ns) {
    counted_ += bytes;
    waited_ns_ += now_ns - since_ns_;
    begin(now_ns);
    if (waited_ns_ < shortest_measured_ns || counted_ < bytes_) return;
    const auto target = static_cast<Count>(static_cast<double>(counted_) * piece_ns / static_cast<double>(waited_ns_));
    // Up at once and down slowly: a rank that was busy with other things finds data that has waited for it.
    bytes_ = std::clamp(std::max(target, bytes_ - bytes_ / 8), least, most);
    counted_ = 0;
    waited_ns_ = 0;
}

void Grants::add(GrantedSender &sender, Fetch &fetch) {
    sender.waiting_.push_back(&fetch);
    if (!sender.is_listed_) {
        sender.is_listed_ = true;
        listed_.push_back(&sender);
    }
    share_out();
    notice(sender);
}

void Grants::notice(GrantedSender &sender) {
    in_a_row_ = latest_ == &sender ? in_a_row_ + 1 : 1;
    latest_ = &sender;
    if (alone_ != nullptr && alone_ != &sender) std::exchange(alone_, nullptr)->tell_alone(false);
    if (alone_ != nullptr || in_a_row_ < enough_in_a_row || listed_.size() > 1) return;
    alone_ = &sender;
    sender.tell_alone(true);
}

void Grants::arrived(GrantedSender &sender, Count bytes) {
    piece_.count(bytes, clock_ns());
    something_came_ = true;
    came(sender, bytes);
}

void Grants::withdrawn(GrantedSender &sender, Fetch &fetch) {
    std::erase(sender.waiting_, &fetch);
    came(sender, fetch.granted - fetch.arrived);
}

/// So many bytes are not under way any more.
void Grants::came(GrantedSender &sender, Count bytes) {
    sender.under_way_ -= bytes;
    if (!sender.is_overdue_) under_way_ -= bytes;
    if (sender.under_way_ == 0) {
        sender.is_overdue_ = false;
        if (sender.waiting_.empty()) {
            sender.is_listed_ = false;
            std::erase(listed_, &sender);
        }
    }
    share_out();
}

void Grants::forget(GrantedSender &sender) {
    if (alone_ == &sender) alone_ = nullptr;
    if (latest_ == &sender) latest_ = nullptr;
    if (!sender.is_listed_) return;
    if (!sender.is_overdue_) under_way_ -= sender.under_way_;
    std::erase(listed_, &sender);
    share_out();
}

/// Telling a sender may find its connection broken, and read what it still has to say: then this is called again from
/// within, and the outer call goes on with what has changed.
void Grants::share_out() {
    if (sharing_out_) return;
    sharing_out_ = true;
    if (listed_.size() == 1) {
        GrantedSender &only = *listed_.front();
        const Count most = pieces_when_alone * piece_.bytes();
        while (!only.waiting_.empty() && only.under_way_ <= most - piece_.bytes()) grant(only, most - only.under_way_);
    } else {
        while (GrantedSender *sender = next()) grant(*sender, piece_of(*sender->waiting_.front()));
        set_timer();
    }
    sharing_out_ = false;
}

/// The sender whose turn it is, if there is room for something of it: one that has begun, or else the next below the
/// last that began. nullptr: none.
GrantedSender *Grants::next() const {
    GrantedSender *chosen = nullptr;
    const ProcessIndex above = last_ >= 0 ? last_ : node.rank;
    const int all = processes.size();
    auto distance = [&](const GrantedSender &sender) {
        if (sender.waiting_.front()->granted > 0) return 0;
        return 1 + (above - sender.process_ - 1 + 2 * all) % all;
    };
    for (GrantedSender *sender : listed_) {
        if (sender->under_way_ > 0 || sender->waiting_.empty()) continue;
        if (!chosen || distance(*sender) < distance(*chosen)) chosen = sender;
    }
    if (!chosen) return nullptr;
    const Fetch &fetch = *chosen->waiting_.front();
    const Count piece = piece_of(fetch), wanted = std::min(piece, fetch.wanted - fetch.granted);
    return under_way_ == 0 || under_way_ + wanted <= pieces_at_once * piece ? chosen : nullptr;
}

Count Grants::piece_of(const Fetch &fetch) const {
    return std::clamp(fetch.wanted / 4, piece_.bytes(), 4 * piece_.bytes());
}

/// Grants the next bytes of what waits, of several short messages if they fit, and at least something.
void Grants::grant(GrantedSender &sender, Count most) {
    if (under_way_ == 0) piece_.begin(clock_ns());
    for (Count left = most; left > 0 && !sender.waiting_.empty();) {
        Fetch &fetch = *sender.waiting_.front();
        const Count bytes = std::min(left, fetch.wanted - fetch.granted);
        if (left < most && bytes < fetch.wanted - fetch.granted) break;
        fetch.granted += bytes;
        left -= bytes;
        sender.under_way_ += bytes;
        if (!sender.is_overdue_) under_way_ += bytes;
        if (fetch.granted == fetch.wanted) sender.waiting_.pop_front();
        last_ = sender.process_;
        sender.tell_granted(fetch);
    }
}

void Grants::set_timer() {
    const bool is_wanted =
        std::ranges::any_of(listed_, [](const GrantedSender *sender) { return !sender->waiting_.empty(); });
    if (!is_wanted || timer_is_set_) return;
    if (!timer_) {
        timer_ = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
        if (!timer_ || !descriptors.add(timer_.get(), EPOLLIN, key_))
            abort_job_for("the system has no room for a timer of the TCP connections");
    }
    const itimerspec time{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = patience_ns}};
    timerfd_settime(timer_.get(), 0, &time, nullptr);
    timer_is_set_ = true;
    something_came_ = false;
}

bool Grants::timer_ended() {
    std::uint64_t times;
    if (read(timer_.get(), &times, sizeof times) != sizeof times) return false;
    timer_is_set_ = false;
    const bool is_silent = !std::exchange(something_came_, false);
    if (is_silent)
        for (GrantedSender *sender : listed_)
            if (sender->under_way_ > 0 && !std::exchange(sender->is_overdue_, true)) under_way_ -= sender->under_way_;
    share_out();
    set_timer();
    return is_silent;
}

} // namespace volley
