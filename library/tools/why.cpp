// SPDX-License-Identifier: BSD-3-Clause
#include "tools/why.h"

#include "tools/connections.h"
#include "tools/dependence.h"
#include "tools/names.h"

#include <mpi.h>

#include <algorithm>

namespace volley::view {
namespace {

bool contains(const std::vector<int> &ranks, int rank) {
    return std::ranges::find(ranks, rank) != ranks.end();
}

const RankView &view_of(const Snapshot &snapshot, int rank) {
    return snapshot.ranks[static_cast<std::size_t>(rank)];
}

/// Whether the rank has waited in the same call since the earlier snapshot, and no message has come.
bool stands_still(const RankView &before, const RankView &now) {
    return before.waits() && now.waits() && before.function == now.function &&
           before.wait.since_ns == now.wait.since_ns && before.traffic == now.traffic;
}

/// Ranks that can never go on, whatever the others do. The set begins with all ranks that stand still and have no
/// message on its way. Ranks that a live rank outside the set may still free leave it, until it no longer changes.
std::vector<int> find_hung(const Snapshot &earlier, const Snapshot &now, const std::vector<Dependence> &dependences) {
    std::vector<int> hung;
    for (std::size_t i = 0; i < now.ranks.size() && i < earlier.ranks.size(); i++)
        if (stands_still(earlier.ranks[i], now.ranks[i])) hung.push_back(now.ranks[i].rank);
    for (const MessageView &message : now.messages)
        if (message.on_its_way) std::erase(hung, message.destination);
    for (const int rank : awaited_by_connections(now)) std::erase(hung, rank);
    auto alive = [&](int rank) {
        const Doing doing = view_of(now, rank).doing;
        return doing != Doing::ended && doing != Doing::finalised && !contains(hung, rank);
    };
    auto can_be_freed = [&](int rank) {
        const Dependence &dependence = dependences[static_cast<std::size_t>(rank)];
        return dependence.all ? std::ranges::all_of(dependence.on, alive) : std::ranges::any_of(dependence.on, alive);
    };
    while (std::erase_if(hung, can_be_freed) > 0) {}
    return hung;
}

/// Follows one awaited rank after the other until one comes again.
std::vector<int> find_cycle(const std::vector<int> &hung, const std::vector<Dependence> &dependences) {
    for (int start : hung) {
        std::vector<int> path;
        for (int rank = start;;) {
            auto seen = std::ranges::find(path, rank);
            if (seen != path.end()) return {seen, path.end()};
            path.push_back(rank);
            const Dependence &dependence = dependences[static_cast<std::size_t>(rank)];
            // One of several that would do is no link of a cycle.
            if (!dependence.all && dependence.on.size() != 1) break;
            auto next = std::ranges::find_if(dependence.on, [&](int on) { return contains(hung, on); });
            if (next == dependence.on.end()) break;
            rank = *next;
        }
    }
    return {};
}

std::string headline(const Snapshot &now, const Verdict &verdict) {
    if (verdict.whole_job)
        return verdict.hung.size() == 1
                   ? "This job hangs: " + ranks_text(verdict.hung) + " waits, and nobody is left to free it."
                   : "This job hangs: all ranks that still run wait in MPI, and nothing can move.";
    if (verdict.hangs())
        return (verdict.hung.size() == 1 ? "Rank " : "Ranks ") +
               ranks_text(verdict.hung).substr(verdict.hung.size() == 1 ? 5 : 6) +
               (verdict.hung.size() == 1 ? " hangs" : " hang") + ": nothing the other ranks may do can free " +
               (verdict.hung.size() == 1 ? "it." : "them.");
    std::vector<int> computing, stopped, unseen;
    bool any_runs = false;
    for (const RankView &rank : now.ranks) {
        any_runs |= rank.runs();
        if (!rank.is_seen()) {
            unseen.push_back(rank.rank);
            continue;
        }
        if (rank.doing == Doing::stopped) stopped.push_back(rank.rank);
        if (rank.runs() && !rank.waits() && rank.doing != Doing::stopped) computing.push_back(rank.rank);
    }
    if (!any_runs) return "All ranks have ended.";
    std::string text = "No hang is seen";
    if (!stopped.empty())
        text +=
            ": " + ranks_text(stopped) + (stopped.size() == 1 ? " is" : " are") + " stopped by a signal or a debugger";
    else if (!computing.empty())
        text += ": " + ranks_text(computing) + (computing.size() == 1 ? " does" : " do") + " not wait";
    else if (!unseen.empty())
        text += ": nothing is known of " + ranks_text(unseen);
    else
        text += ": all ranks wait, but messages still move";
    return text + ".";
}

/// "; another of its threads could still act".
std::string caveat(const RankView &rank) {
    if (rank.thread_level != MPI_THREAD_MULTIPLE) return {};
    return " (it may have further threads, which are not seen here)";
}

/// "MPI_Recv for a message with tag 5 from rank 1 on MPI_COMM_WORLD"
std::string sentence(const RankView &rank, const Dependence &dependence) {
    return function_name(rank.function) + (dependence.what.empty() ? "" : " ") + dependence.what;
}

/// Ranks that wait for the same thing are reported together.
std::vector<Reason> reasons(const Snapshot &now, const std::vector<Dependence> &dependences) {
    std::vector<Reason> result;
    std::vector<std::string> kinds;
    for (const RankView &rank : now.ranks) {
        if (!rank.waits()) continue;
        const Dependence &dependence = dependences[static_cast<std::size_t>(rank.rank)];
        const std::string kind = dependence.common ? sentence(rank, dependence) + dependence.hint : "";
        auto same = std::ranges::find(kinds, kind);
        if (kind.empty() || same == kinds.end()) {
            kinds.push_back(kind);
            result.push_back({{rank.rank}, dependence.on, {}});
        } else {
            result[static_cast<std::size_t>(same - kinds.begin())].ranks.push_back(rank.rank);
        }
    }
    for (Reason &reason : result) {
        const RankView &first = view_of(now, reason.ranks.front());
        double longest = 0;
        for (int rank : reason.ranks) longest = std::max(longest, Snapshot::waited_seconds(view_of(now, rank)));
        reason.sentence = ranks_text(reason.ranks) + (reason.ranks.size() == 1 ? " waits in " : " wait in ") +
                          sentence(first, dependences[static_cast<std::size_t>(first.rank)]) + ", since " +
                          duration(longest) + caveat(first);
        // A receive whose peer runs and waits is told by the peer's own sentence.
        std::string others;
        for (int awaited : reason.awaited) {
            const RankView &other = view_of(now, awaited);
            if (reason.awaited.size() > 3 && other.runs()) continue;
            if (!other.waits())
                others +=
                    (others.empty() ? "; rank " : ", rank ") + std::to_string(awaited) + " " + describe(now, other);
        }
        reason.sentence += others + dependences[static_cast<std::size_t>(first.rank)].hint;
    }
    return result;
}

} // namespace

std::string Verdict::text() const {
    std::string result = headline + "\n";
    for (const Reason &reason : reasons) result += "  " + reason.sentence + "\n";
    if (cycle.empty()) return result;
    result += "  a cycle: rank " + std::to_string(cycle.front());
    for (std::size_t i = 1; i <= cycle.size(); i++)
        result += std::string(i == 1 ? "" : ", which") + " waits for rank " + std::to_string(cycle[i % cycle.size()]);
    return result + "\n";
}

std::string describe(const Snapshot &snapshot, const RankView &rank) {
    switch (rank.doing) {
    case Doing::not_started:
        return "has not started";
    case Doing::elsewhere:
        return "runs on another host, which cannot be asked from here";
    case Doing::silent:
        return "runs on host " + snapshot.host_of(rank) + ", which does not answer";
    case Doing::before_mpi:
        return "has not called MPI_Init";
    case Doing::computing:
        return "computes outside of MPI";
    case Doing::in_mpi:
        return "is busy in " + function_name(rank.function);
    case Doing::waiting:
        return "waits in " + sentence(rank, dependence_of(snapshot, rank));
    case Doing::stopped:
        return "is stopped by a signal or a debugger" +
               (rank.function != 0 ? " in " + function_name(rank.function) : std::string());
    case Doing::finalised:
        return "has called MPI_Finalize";
    case Doing::ended:
        break;
    }
    return "has ended";
}

bool may_hang(const Snapshot &now) {
    return std::ranges::any_of(now.ranks, &RankView::waits) &&
           std::ranges::none_of(now.messages, &MessageView::on_its_way);
}

Verdict explain(const Snapshot &earlier, const Snapshot &now) {
    std::vector<Dependence> dependences;
    for (const RankView &rank : now.ranks)
        dependences.push_back(rank.waits() ? dependence_of(now, rank) : Dependence{});
    Verdict verdict;
    if (!now.ending) verdict.hung = find_hung(earlier, now, dependences);
    verdict.whole_job = verdict.hangs() && std::ranges::all_of(now.ranks, [&](const RankView &rank) {
                            return !rank.runs() || rank.doing == Doing::finalised || contains(verdict.hung, rank.rank);
                        });
    verdict.cycle = find_cycle(verdict.hung, dependences);
    verdict.reasons = reasons(now, dependences);
    verdict.headline = headline(now, verdict);
    return verdict;
}

} // namespace volley::view
