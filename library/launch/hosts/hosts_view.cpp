// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/hosts_view.h"

#include "boot/error.h"
#include "tools/process_info.h"
#include "tools/report.h"
#include "tools/snapshot_parts.h"
#include "tools/why.h"

#include <utility>

namespace volley::launch {

HostsView::HostsView(const std::string &job, const std::vector<std::string> &hosts,
                     const std::vector<std::int32_t> &node_of) {
    nothing_seen_.job = job;
    nothing_seen_.creator = view::creator_of(job);
    nothing_seen_.node = static_cast<std::int32_t>(hosts.size()); // none of them
    for (const std::string &host : hosts) nothing_seen_.hosts.push_back({.name = host});
    for (const std::int32_t node : node_of) {
        view::RankView &rank = nothing_seen_.ranks.emplace_back();
        rank.rank = static_cast<int>(nothing_seen_.ranks.size()) - 1;
        rank.node = node;
        rank.doing = view::Doing::elsewhere;
    }
}

bool HostsView::begin() {
    if (std::exchange(is_asked_, true)) return false;
    now_ = nothing_seen_;
    earlier_.reset();
    return true;
}

void HostsView::add(std::int32_t node, const std::string &part) {
    try {
        if (!part.empty()) return add_part(now_, part);
    } catch (const Error &) { // shown as no answer
    }
    add_silence(now_, node);
}

std::optional<std::string> HostsView::end_look(Clock::time_point now) {
    if (!earlier_) {
        earlier_ = std::exchange(now_, nothing_seen_);
        second_look_at_ = now + view::between_looks;
        return std::nullopt;
    }
    is_asked_ = false;
    return view::job_line(now_) + "\n" + view::tasks_table(now_) + "\n" + view::explain(*earlier_, now_).text();
}

void HostsView::begin_second_look() {
    second_look_at_.reset();
}

} // namespace volley::launch
