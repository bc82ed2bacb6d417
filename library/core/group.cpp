// SPDX-License-Identifier: BSD-3-Clause
#include "core/group.h"

#include "core/engine.h"

#include <numeric>
#include <utility>

namespace volley {
namespace {

Pool<Group> pool;

std::vector<std::int32_t> all_ranks() {
    std::vector<std::int32_t> ranks(static_cast<std::size_t>(node.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

} // namespace

Group::Group(std::vector<std::int32_t> world_ranks, std::shared_ptr<SessionBuffer> session)
    : Object(kind), world_ranks_(std::move(world_ranks)), session_(std::move(session)) {
    bool identity = true;
    for (int i = 0; i < size() && identity; ++i) identity = world_rank(i) == i;
    if (!identity) {
        members_.assign(static_cast<std::size_t>(node.ranks), MPI_UNDEFINED);
        for (int i = 0; i < size(); ++i) members_[static_cast<std::size_t>(world_rank(i))] = i;
    }
    rank_ = member(node.rank);
}

Group *Group::make(std::vector<std::int32_t> world_ranks, std::shared_ptr<SessionBuffer> session) {
    if (!world_ranks.empty()) return pool.make(std::move(world_ranks), std::move(session));
    empty().retain();
    return &empty();
}

// These are made when the job is known.

Group &Group::world() {
    static Group *const group = pool.make(all_ranks(), nullptr);
    return *group;
}

Group &Group::self() {
    static Group *const group = pool.make(std::vector<std::int32_t>{node.rank}, nullptr);
    return *group;
}

Group &Group::empty() {
    static Group *const group = pool.make(std::vector<std::int32_t>{}, nullptr);
    return *group;
}

Group *Group::from_handle(MPI_Group handle) {
    if (handle == MPI_GROUP_EMPTY) return &empty();
    return object_of<Group>(handle);
}

MPI_Group Group::handle() {
    return this == &empty() ? MPI_GROUP_EMPTY : reinterpret_cast<MPI_Group>(this);
}

int Group::member(std::int32_t world_rank) const {
    if (members_.empty()) return world_rank < size() ? world_rank : MPI_UNDEFINED;
    return members_[static_cast<std::size_t>(world_rank)];
}

void Group::release(Group &group) {
    if (static_cast<Object &>(group).release()) pool.destroy(&group);
}

} // namespace volley
