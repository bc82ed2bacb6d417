// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/looks.h"

#include <algorithm>

#include "boot/look_request.h"

namespace volley::launch {

void Looks::ask(Asker asker) {
    if (std::ranges::find(askers_, asker) == askers_.end()) askers_.push_back(asker);
}

std::optional<Looks::Round> Looks::begin(const std::vector<bool> &is_there, Clock::time_point now) {
    if (current_ || askers_.empty()) return std::nullopt;
    current_ = {askers_.front(), now + longest_look, {}, {}};
    askers_.pop_front();
    Round round{++round_, {}};
    for (std::size_t index = 0; index < owes_.size(); index++) {
        const auto node = static_cast<std::int32_t>(index);
        if (node == current_->asker) continue;
        if (!is_there[index] || owes_[index]) {
            current_->silent.push_back(node);
            continue;
        }
        owes_[index] = true;
        current_->awaited.push_back(node);
        round.nodes.push_back(node);
    }
    return round;
}

std::optional<Looks::Asker> Looks::answered(std::int32_t node, std::int32_t round) {
    owes_[static_cast<std::size_t>(node)] = false;
    if (!current_ || round != round_ || std::erase(current_->awaited, node) == 0) return std::nullopt;
    return current_->asker;
}

std::optional<Looks::End> Looks::end(Clock::time_point now) {
    if (!current_ || (!current_->awaited.empty() && now < current_->until)) return std::nullopt;
    End end{current_->asker, std::move(current_->silent)};
    end.silent.insert(end.silent.end(), current_->awaited.begin(), current_->awaited.end());
    std::ranges::sort(end.silent);
    current_.reset();
    return end;
}

std::optional<Clock::time_point> Looks::deadline() const {
    if (!current_) return std::nullopt;
    return current_->until;
}

} // namespace volley::launch
