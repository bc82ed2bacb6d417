// SPDX-License-Identifier: BSD-3-Clause
#include "collective/hierarchy.h"

#include "collective/area.h"
#include "collective/internal.h"
#include "collective/schedule.h"
#include "core/contexts.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace volley {
namespace {

void drop(Communicator &communicator) {
    Hierarchy *hierarchy = std::exchange(communicator.hierarchy, nullptr);
    if (hierarchy == nullptr) return;
    for (Communicator *level : {hierarchy->node, hierarchy->leaders})
        if (level != nullptr) Communicator::release(*level);
    delete hierarchy;
}

const bool registered = (Communicator::on_release(drop), true);

Hierarchy *make_hierarchy(const Communicator &communicator) {
    auto *made = new Hierarchy;
    std::map<std::int32_t, int> numbers;
    for (int rank = 0; rank < communicator.size(); rank++) {
        std::int32_t node_number = processes[communicator.peer_process(rank)].node;
        auto [found, is_first] = numbers.try_emplace(node_number, made->nodes());
        if (is_first) made->members.emplace_back();
        std::vector<int> &members = made->members[static_cast<std::size_t>(found->second)];
        made->places.push_back({found->second, static_cast<int>(members.size())});
        members.push_back(rank);
    }
    return made;
}

/// The result of a context allocation, which a leader sends to its node, and the first leader to the other leaders.
struct LevelContext {
    SharedContext context = 0;
    std::uint64_t area = 0;
};

Block block_of(LevelContext &allocated) {
    return {reinterpret_cast<char *>(&allocated), static_cast<Count>(sizeof allocated),
            Datatype::from_handle(MPI_BYTE)};
}

/// Sends `allocated` from the first of some ranks to the others; all ranks of the communicator call it, in the same
/// order.
int send_to_others(Communicator &communicator, const std::vector<int> &ranks, LevelContext &allocated) {
    Schedule schedule("levels of a communicator", communicator, Form::blocking);
    bool is_among = std::ranges::find(ranks, communicator.rank()) != ranks.end();
    if (is_among && communicator.rank() != ranks.front()) schedule.receive(block_of(allocated), ranks.front());
    if (communicator.rank() == ranks.front())
        for (std::size_t i = 1; i < ranks.size(); i++) schedule.send(block_of(allocated), ranks[i]);
    return schedule.run();
}

/// Makes the communicator of some ranks, with a context that the first of them draws. nullptr if there is no context,
/// or if this rank is not among them.
Communicator *make_level(Communicator &whole, const std::vector<int> &ranks, bool on_a_node, const char *name) {
    bool is_among = std::ranges::find(ranks, whole.rank()) != ranks.end();
    std::vector<ProcessIndex> members;
    for (int rank : ranks) members.push_back(whole.peer_process(rank));
    Group *group = Group::make(std::move(members));
    LevelContext allocated;
    if (whole.rank() == ranks.front()) {
        allocated.context = draw_shared_context(*group);
        bool wants_area = on_a_node && group->size() > 1 && allocated.context != 0;
        const CollectiveArea *area = wants_area ? make_area(*group) : nullptr;
        allocated.area = area != nullptr ? arena_offset(area) : 0;
    }
    Communicator *made = nullptr;
    if (send_to_others(whole, ranks, allocated) == MPI_SUCCESS && is_among && allocated.context != 0) {
        made = Communicator::make_unsettled(*group, nullptr);
        made->serves = &whole;
        made->settle(context_number(allocated.context, made->members_here()));
        made->set_name(name + std::string(whole.name()));
        made->area = allocated.area != 0 ? arena_pointer<CollectiveArea>(allocated.area) : nullptr;
    }
    Group::release(*group);
    return made;
}

/// Makes the communicators of all levels. All ranks learn whether that was possible for all.
void connect(Communicator &communicator, Hierarchy &hierarchy) {
    const std::vector<int> &own =
        hierarchy.members[static_cast<std::size_t>(hierarchy.place(communicator.rank()).node)];
    std::vector<int> leaders;
    for (int i = 0; i < hierarchy.nodes(); i++) leaders.push_back(hierarchy.leader(i));
    hierarchy.node = make_level(communicator, own, true, "node of ");
    hierarchy.leaders = make_level(communicator, leaders, false, "leaders of ");
    bool leads = communicator.rank() == own.front();
    std::int64_t good = hierarchy.node != nullptr && (hierarchy.leaders != nullptr || !leads);
    int code = allreduce_min(&good, 1, communicator);
    hierarchy.state = code == MPI_SUCCESS && good != 0 ? Hierarchy::State::connected : Hierarchy::State::impossible;
}

} // namespace

Hierarchy *hierarchy_of(Communicator &communicator) {
    if (communicator.is_inter()) return nullptr;
    if (!processes.are_on_several_nodes() && !communicator.local().has_other_jobs()) return nullptr;
    if (communicator.hierarchy == nullptr) communicator.hierarchy = make_hierarchy(communicator);
    return communicator.hierarchy;
}

Hierarchy *connected_hierarchy(Communicator &communicator) {
    Hierarchy *hierarchy = hierarchy_of(communicator);
    if (hierarchy == nullptr || !hierarchy->has_levels()) return nullptr;
    if (hierarchy->state == Hierarchy::State::unconnected) connect(communicator, *hierarchy);
    return hierarchy->state == Hierarchy::State::connected ? hierarchy : nullptr;
}

} // namespace volley
