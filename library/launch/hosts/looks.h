// SPDX-License-Identifier: BSD-3-Clause
/// What tools ask of other hosts (look_desk.h), as mpiexec passes it on: one question at a time, in rounds. In a round
/// each node daemon but that of the host that asks is told to look. The round ends when all have answered, or after
/// longest_look. A daemon that has not answered is not told again before it has, so a host that stands still finds one
/// question when it goes on.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "launch/clock.h"

namespace volley::launch {

class Looks {
  public:
    /// Whoever asks: the daemon of a node, a tool on the host of mpiexec, or mpiexec itself (hosts_view.h).
    using Asker = std::int32_t;
    static constexpr Asker mpiexec = -1, view = -2;

    explicit Looks(std::size_t nodes = 0) : owes_(nodes, false) {}

    void ask(Asker asker);

    struct Round {
        std::int32_t number;
        std::vector<std::int32_t> nodes; ///< that are to look
    };
    /// Begins the next round, if somebody has asked and none is going on. `is_there`: by node, whether its daemon is.
    std::optional<Round> begin(const std::vector<bool> &is_there, Clock::time_point now);
    /// That node has answered. Who is to hear of it; nobody if its round is over.
    std::optional<Asker> answered(std::int32_t node, std::int32_t round);

    struct End {
        Asker asker;
        std::vector<std::int32_t> silent; ///< nodes that have not answered
    };
    std::optional<End> end(Clock::time_point now);
    /// By when end() is to be called.
    [[nodiscard]] std::optional<Clock::time_point> deadline() const;

  private:
    std::vector<bool> owes_; ///< by node: it has not answered the last time it was told to look
    std::deque<Asker> askers_;
    std::int32_t round_ = 0;
    struct Current {
        Asker asker;
        Clock::time_point until;
        std::vector<std::int32_t> awaited, silent;
    };
    std::optional<Current> current_;
};

} // namespace volley::launch
