// SPDX-License-Identifier: BSD-3-Clause
/// Agreements of communicators whose members are on several hosts: mpiexec is the one that decides.
///
/// Each living member sends one contribution, through its node daemon. mpiexec decides once each member has contributed
/// or has failed, as far as it has told the daemons: they hear of a failure before they hear of any decision that
/// counts on it. Whatever a member sends after it was declared failed is left out, so that nothing is decided twice.
/// agreements.pml models it.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "boot/recovery_request.h"

namespace volley::launch {

class Agreements {
  public:
    explicit Agreements(std::size_t ranks) : failed_(ranks) {}

    /// What is decided by this contribution.
    std::optional<Decision> contribute(const Contribution &contribution);
    /// Ranks have failed. What is decided by that.
    std::vector<Decision> fail(const std::vector<std::uint32_t> &ranks);

    [[nodiscard]] const RankSet &failed() const {
        return failed_;
    }

  private:
    /// What has come so far.
    struct Pending {
        RankSet members, contributed;
        std::uint32_t flag = ~0U;
        RankSet acknowledged; ///< by all that have contributed
        std::vector<std::pair<std::uint32_t, OfferedContexts>> offers;
    };
    using Key = std::pair<std::uint32_t, std::uint32_t>; ///< context and number

    [[nodiscard]] bool is_over(const Pending &pending) const;
    [[nodiscard]] Decision decide(const Key &key, const Pending &pending) const;

    RankSet failed_;
    std::map<Key, Pending> pending_;
};

} // namespace volley::launch
