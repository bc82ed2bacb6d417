// SPDX-License-Identifier: BSD-3-Clause
#include "tools/dependence.h"

#include "boot/context_number.h"
#include "tools/names.h"

#include <mpi.h>

#include <algorithm>

namespace volley::view {
namespace {

std::string peer_text(const WaitView &wait) {
    if (wait.peer == MPI_ANY_SOURCE) return "any rank";
    if (wait.world_peer == wait.peer || wait.world_peer < 0) return "rank " + std::to_string(wait.peer);
    return "rank " + std::to_string(wait.world_peer) + " (" + std::to_string(wait.peer) + " there)";
}

std::string tag_text(int tag) {
    return tag == MPI_ANY_TAG ? "any tag" : "tag " + std::to_string(tag);
}

std::vector<int> without(std::vector<int> ranks, int rank) {
    std::erase(ranks, rank);
    return ranks;
}

std::vector<int> all_ranks(const Snapshot &snapshot) {
    std::vector<int> ranks;
    for (const RankView &rank : snapshot.ranks) ranks.push_back(rank.rank);
    return ranks;
}

bool wanted_from(const WaitView &wait, const MessageView &message) {
    return wait.peer == MPI_ANY_SOURCE || message.source == wait.world_peer;
}

/// The message that comes nearest to what a receive waits for, among those that have come and that it does not take.
std::string nearest(const Snapshot &snapshot, const RankView &rank) {
    const WaitView &wait = rank.wait;
    const MessageView *best = nullptr;
    int best_score = 0;
    for (const MessageView &message : snapshot.messages) {
        if (message.destination != rank.rank || traffic_of(message.context) != Traffic::program) continue;
        bool same_tag = wait.tag == MPI_ANY_TAG || wait.tag == message.tag;
        int score = 1 + (wanted_from(wait, message) ? 4 : 0) + (message.context == wait.context ? 2 : 0) + same_tag;
        if (score > best_score) {
            best = &message;
            best_score = score;
        }
    }
    if (!best) return {};
    std::string text = "; rank " + std::to_string(best->source) + " has sent it tag " + std::to_string(best->tag);
    if (best->context != wait.context) text += " on " + snapshot.communicator_name(best->context);
    return text + " (" + std::to_string(best->bytes) + " bytes), which nobody has received";
}

Dependence receive(const Snapshot &snapshot, const RankView &rank) {
    const WaitView &wait = rank.wait;
    Dependence dependence;
    if (wait.peer == MPI_ANY_SOURCE)
        dependence.on = without(snapshot.members(rank, wait.context, true), rank.rank);
    else if (wait.world_peer >= 0)
        dependence.on = {wait.world_peer};
    dependence.what = "for a message with " + tag_text(wait.tag) + " from " + peer_text(wait) + " on " +
                      snapshot.communicator_name(wait.context);
    dependence.hint = nearest(snapshot, rank);
    return dependence;
}

Dependence send(const Snapshot &snapshot, const RankView &rank) {
    const WaitView &wait = rank.wait;
    Dependence dependence;
    if (wait.world_peer >= 0) dependence.on = {wait.world_peer};
    dependence.what = "until " + peer_text(wait) + " receives its message with " + tag_text(wait.tag) + " on " +
                      snapshot.communicator_name(wait.context);
    return dependence;
}

/// No rank leaves such an operation before all have entered it.
bool synchronises(const std::string &function) {
    for (const char *start : {"MPI_All", "MPI_Barrier", "MPI_Reduce_scatter", "MPI_Comm_"})
        if (function.starts_with(start)) return true;
    return false;
}

/// Everyone of a communicator but the rank itself; in an intercommunicator of both groups.
std::vector<int> others_in(const Snapshot &snapshot, const RankView &rank, std::uint32_t context) {
    std::vector<int> members = without(snapshot.members(rank, context, false), rank.rank);
    for (int peer : snapshot.members(rank, context, true))
        if (peer != rank.rank && std::ranges::find(members, peer) == members.end()) members.push_back(peer);
    std::ranges::sort(members);
    return members;
}

/// How far a rank is in a communicator's collective operations, counted as the wait does.
std::uint32_t begun(const CommunicatorView &entry, WaitKind kind) {
    return kind == WaitKind::round ? entry.rounds : entry.collectives;
}

/// "; rank 1 is in MPI_Bcast instead": ranks at the same place in the order of operations, but in another one.
std::string in_another(const Snapshot &snapshot, const RankView &rank, const std::vector<int> &members) {
    const WaitView &wait = rank.wait;
    std::string text;
    for (int member : members) {
        const RankView &other = snapshot.ranks[static_cast<std::size_t>(member)];
        const CommunicatorView *entry = Snapshot::communicator(other, wait.context);
        if (!entry || begun(*entry, wait.kind) != static_cast<std::uint32_t>(wait.tag) + 1 || !other.waits()) continue;
        const auto its = collective_of(other), own = collective_of(rank);
        if (!its || its->context != own->context) continue;
        const std::string name = function_name(other.function);
        if (name != function_name(rank.function))
            text += "; rank " + std::to_string(member) + " is in " + name + " instead";
        else if (its->root != own->root && its->root >= 0 && own->root >= 0)
            text += "; rank " + std::to_string(member) + " has root " + std::to_string(its->root) + " instead";
    }
    return text;
}

/// The rank needs those that have not begun the operation. If all have begun it, one of them has to go on.
Dependence collective(const Snapshot &snapshot, const RankView &rank) {
    const WaitView &wait = rank.wait;
    const std::string function = function_name(rank.function);
    const std::vector<int> members = others_in(snapshot, rank, wait.context);
    std::vector<int> missing;
    for (int member : members) {
        const CommunicatorView *entry =
            Snapshot::communicator(snapshot.ranks[static_cast<std::size_t>(member)], wait.context);
        if (entry && begun(*entry, wait.kind) <= static_cast<std::uint32_t>(wait.tag)) missing.push_back(member);
    }
    Dependence dependence;
    const auto operation = collective_of(rank);
    if (operation && operation->root >= 0) dependence.what = "with root " + std::to_string(operation->root) + " ";
    dependence.what += "on " + snapshot.communicator_name(wait.context);
    const bool needs_all = wait.kind == WaitKind::round || synchronises(function);
    const bool one_message = wait.kind == WaitKind::step && !synchronises(function);
    if (wait.world_peer >= 0 && (wait.kind == WaitKind::round || one_message)) {
        // Who else is missing does not matter: this is the one it needs next.
        dependence.on = {wait.world_peer};
        dependence.what += " for " + ranks_text(dependence.on);
    } else if (!missing.empty()) {
        dependence.on = missing;
        dependence.all = needs_all;
        dependence.what += " for " + ranks_text(missing);
    } else {
        dependence.on = members;
        dependence.what += ", which all its ranks have begun";
    }
    dependence.hint = in_another(snapshot, rank, members);
    dependence.common = true;
    return dependence;
}

/// All ranks of the job have to come to MPI_Init, and to MPI_Finalize.
Dependence round(const Snapshot &snapshot, const RankView &rank) {
    const std::string name = function_name(rank.function);
    const bool ends = name == "MPI_Finalize";
    Dependence dependence;
    dependence.all = true;
    for (const RankView &other : snapshot.ranks) {
        const bool here = function_name(other.function) == name;
        const bool past = ends ? other.doing == Doing::finalised
                               : other.doing != Doing::before_mpi && other.doing != Doing::not_started;
        if (!here && !past) dependence.on.push_back(other.rank);
    }
    if (dependence.on.empty()) {
        dependence.all = false;
        dependence.on = without(all_ranks(snapshot), rank.rank);
    } else {
        dependence.what = "for " + ranks_text(dependence.on);
    }
    dependence.common = true;
    return dependence;
}

/// Any rank that can complete one of the requests may free the rank.
Dependence one_of(const Snapshot &snapshot, const RankView &rank) {
    Dependence dependence;
    dependence.what = "for one of " + std::to_string(rank.wait.requests) + " requests (";
    RankView alone = rank;
    for (const WaitView &alternative : rank.wait.alternatives) {
        alone.wait = alternative;
        alone.wait.since_ns = rank.wait.since_ns;
        const Dependence one = dependence_of(snapshot, alone);
        dependence.on.insert(dependence.on.end(), one.on.begin(), one.on.end());
        if (&alternative != &rank.wait.alternatives.front()) dependence.what += "; ";
        dependence.what += one.what + one.hint;
    }
    if (rank.wait.requests > rank.wait.alternatives.size()) {
        dependence.on = without(all_ranks(snapshot), rank.rank);
        dependence.what += "; ...";
    }
    std::ranges::sort(dependence.on);
    dependence.on.erase(std::ranges::unique(dependence.on).begin(), dependence.on.end());
    dependence.what += ")";
    return dependence;
}

Dependence something(const Snapshot &snapshot, const RankView &rank) {
    Dependence dependence;
    dependence.on = without(all_ranks(snapshot), rank.rank);
    dependence.common = true;
    return dependence;
}

/// In MPI_Win_lock and MPI_Win_lock_all for whoever has locked the peer's memory, else for the peer.
Dependence window(const Snapshot &snapshot, const RankView &rank) {
    const WaitView &wait = rank.wait;
    const std::string name = function_name(rank.function);
    Dependence dependence;
    if (name.starts_with("MPI_Win_lock")) {
        dependence.on = without(snapshot.members(rank, wait.context, true), rank.rank);
        dependence.what = "for the lock of the window's memory of " + peer_text(wait);
    } else {
        if (wait.world_peer >= 0) dependence.on = {wait.world_peer};
        dependence.what = "until " + peer_text(wait) +
                          (name == "MPI_Win_start"  ? " posts its memory of the window"
                           : name == "MPI_Win_wait" ? " completes its accesses to the window"
                                                    : " has done its part in the window");
    }
    return dependence;
}

} // namespace

std::optional<CollectiveView> collective_of(const RankView &rank) {
    const WaitView &wait = rank.wait;
    if (wait.since_ns == 0) return std::nullopt;
    switch (wait.kind) {
    case WaitKind::step:
        // Other functions are made of messages that no root and no data of the user belong to.
        if (!is_collective(rank.function)) return CollectiveView{wait.context, -1};
        [[fallthrough]];
    case WaitKind::collective:
    case WaitKind::round:
        return CollectiveView{wait.collective, wait.root < 0 ? -1 : wait.root};
    default:
        return std::nullopt;
    }
}

Dependence dependence_of(const Snapshot &snapshot, const RankView &rank) {
    const WaitView &wait = rank.wait;
    const std::string name = function_name(rank.function);
    if (name == "MPI_Init" || name == "MPI_Init_thread" || name == "MPI_Finalize") return round(snapshot, rank);
    switch (wait.kind) {
    case WaitKind::receive:
        return receive(snapshot, rank);
    case WaitKind::send:
        return send(snapshot, rank);
    case WaitKind::step:
    case WaitKind::collective:
    case WaitKind::round:
        return collective(snapshot, rank);
    case WaitKind::one_of:
        return one_of(snapshot, rank);
    case WaitKind::window:
        return window(snapshot, rank);
    case WaitKind::unknown:
        break;
    }
    return something(snapshot, rank);
}

} // namespace volley::view
