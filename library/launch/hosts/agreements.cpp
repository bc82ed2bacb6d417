// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/agreements.h"

#include <algorithm>

namespace volley::launch {

std::optional<Decision> Agreements::contribute(const Contribution &contribution) {
    if (failed_.has(contribution.rank)) return std::nullopt;
    const Key key{contribution.context, contribution.number};
    auto [found, is_first] = pending_.try_emplace(key, Pending{.members = contribution.members,
                                                               .contributed = contribution.members,
                                                               .acknowledged = contribution.acknowledged,
                                                               .offers = {}});
    Pending &pending = found->second;
    if (is_first) pending.contributed = RankSet(std::vector<std::uint64_t>(contribution.members.words().size()));
    pending.contributed.add(contribution.rank);
    pending.flag &= contribution.flag;
    pending.acknowledged = pending.acknowledged.both(contribution.acknowledged);
    pending.offers.emplace_back(contribution.rank, contribution.contexts);
    if (!is_over(pending)) return std::nullopt;
    Decision decision = decide(key, pending);
    pending_.erase(found);
    return decision;
}

std::vector<Decision> Agreements::fail(const std::vector<std::uint32_t> &ranks) {
    for (const std::uint32_t rank : ranks) failed_.add(rank);
    std::vector<Decision> decided;
    for (auto each = pending_.begin(); each != pending_.end();) {
        if (!is_over(each->second)) {
            ++each;
            continue;
        }
        decided.push_back(decide(each->first, each->second));
        each = pending_.erase(each);
    }
    return decided;
}

bool Agreements::is_over(const Pending &pending) const {
    return pending.members.is_within(pending.contributed, failed_);
}

Decision Agreements::decide(const Key &key, const Pending &pending) const {
    const RankSet failed = pending.members.both(failed_);
    Decision decision{.context = key.first,
                      .number = key.second,
                      .flag = pending.flag,
                      .is_acknowledged = failed.is_within(pending.acknowledged, pending.acknowledged) ? 1U : 0U,
                      .contexts = {},
                      .failed = failed};
    const auto lives = [&](const auto &offer) { return !failed_.has(offer.first); };
    if (const auto offer = std::ranges::find_if(pending.offers, lives); offer != pending.offers.end())
        decision.contexts = offer->second;
    return decision;
}

} // namespace volley::launch
