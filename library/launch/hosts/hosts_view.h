// SPDX-License-Identifier: BSD-3-Clause
/// What mpiexec itself prints of a job on several hosts when it is asked to (view_signal): the ranks of all of them,
/// and why they wait. It looks twice, as mpitask does; in each of the looks node daemons tell what their ranks do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/clock.h"
#include "tools/snapshot.h"

namespace volley::launch {

class HostsView {
  public:
    /// `hosts` by node, `node_of` by rank.
    HostsView(const std::string &job, const std::vector<std::string> &hosts, const std::vector<std::int32_t> &node_of);

    /// Somebody asks. False if the answer to an earlier question is under way.
    bool begin();
    /// What the ranks of a node do; nothing: it has not answered.
    void add(std::int32_t node, const std::string &part);
    /// All nodes have had their time. What is to be printed, once that was the second look.
    std::optional<std::string> end_look(Clock::time_point now);
    /// When the second look is to begin; nothing: not at all, or it has.
    [[nodiscard]] std::optional<Clock::time_point> second_look_at() const {
        return second_look_at_;
    }
    void begin_second_look();

  private:
    view::Snapshot nothing_seen_;
    view::Snapshot now_;
    std::optional<view::Snapshot> earlier_;
    bool is_asked_ = false;
    std::optional<Clock::time_point> second_look_at_;
};

} // namespace volley::launch
