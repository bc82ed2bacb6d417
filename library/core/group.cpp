// SPDX-License-Identifier: BSD-3-Clause
#include "core/group.h"

#include "core/engine.h"
#include "core/messages.h"

#include <numeric>
#include <utility>

namespace volley {
namespace {

Pool<Group> pool;

std::vector<ProcessIndex> all_ranks() {
    std::vector<ProcessIndex> ranks(static_cast<std::size_t>(processes.ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

} // namespace

Group::Group(std::vector<ProcessIndex> members, std::shared_ptr<SessionBuffer> session)
    : Object(kind), processes_(std::move(members)), session_(std::move(session)) {
    bool identity = true;
    for (int i = 0; i < size() && identity; ++i) identity = process(i) == i;
    if (!identity) {
        members_.assign(static_cast<std::size_t>(volley::processes.size()), MPI_UNDEFINED);
        for (int i = 0; i < size(); ++i) members_[static_cast<std::size_t>(process(i))] = i;
    }
    rank_ = member(node.rank);
    for (ProcessIndex process : processes_) {
        if (!volley::processes.is_of_other_job(process)) continue;
        volley::processes.retain(process);
        has_other_jobs_ = true;
    }
}

Group::~Group() {
    if (!has_other_jobs_) return;
    for (ProcessIndex process : processes_)
        if (volley::processes.is_of_other_job(process) && volley::processes.release(process)) messages.part(process);
}

Group *Group::make(std::vector<ProcessIndex> members, std::shared_ptr<SessionBuffer> session) {
    if (!members.empty()) return pool.make(std::move(members), std::move(session));
    empty().retain();
    return &empty();
}

// These are made when the job is known.

Group &Group::world() {
    static Group *const group = pool.make(all_ranks(), nullptr);
    return *group;
}

Group &Group::shared() {
    static Group *const group = [] {
        std::vector<ProcessIndex> members = all_ranks();
        std::erase_if(members, [](ProcessIndex process) { return volley::processes[process].record == nullptr; });
        return pool.make(std::move(members), nullptr);
    }();
    return *group;
}

Group &Group::self() {
    static Group *const group = pool.make(std::vector<ProcessIndex>{node.rank}, nullptr);
    return *group;
}

Group &Group::empty() {
    static Group *const group = pool.make(std::vector<ProcessIndex>{}, nullptr);
    return *group;
}

Group *Group::from_handle(MPI_Group handle) {
    if (handle == MPI_GROUP_EMPTY) return &empty();
    return object_of<Group>(handle);
}

MPI_Group Group::handle() {
    return this == &empty() ? MPI_GROUP_EMPTY : reinterpret_cast<MPI_Group>(this);
}

int Group::member(ProcessIndex process) const {
    if (members_.empty()) return process < size() ? process : MPI_UNDEFINED;
    auto index = static_cast<std::size_t>(process);
    return index < members_.size() ? members_[index] : MPI_UNDEFINED;
}

void Group::release(Group &group) {
    if (static_cast<Object &>(group).release()) pool.destroy(&group);
}

} // namespace volley
