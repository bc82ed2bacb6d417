// SPDX-License-Identifier: BSD-3-Clause
#include "core/communicator.h"

#include "core/contexts.h"
#include "core/engine.h"
#include "core/errhandler.h"
#include "core/failures.h"
#include "core/introspection.h"
#include "core/matching.h"

#include <algorithm>

namespace volley {
namespace {

Pool<Communicator> pool;

/// Layers register while the library is loaded, in any order.
std::vector<Communicator::Release> &releases() {
    static std::vector<Communicator::Release> registered;
    return registered;
}

} // namespace

std::array<Communicator *, 2> Communicator::predefined_{};

Communicator::Communicator(Group &local, Group *remote)
    : Object(kind), rank_(local.rank()), size_(local.size()), peers_(remote ? remote->size() : local.size()),
      peer_processes_((remote ? *remote : local).processes().data()), local_(&local), remote_(remote) {
    local.retain();
    if (remote) remote->retain();
    errhandler = &Errhandler::errors_are_fatal();
    errhandler->retain();
}

Communicator *Communicator::make_unsettled(Group &local, Group *remote) {
    return pool.make(local, remote);
}

Communicator *Communicator::make(Group &local, Group *remote, std::uint32_t context) {
    Communicator *made = make_unsettled(local, remote);
    made->settle(context);
    return made;
}

void Communicator::settle(std::uint32_t context) {
    context_ = context;
    open_queues(Traffic::program);
    open_queues(Traffic::collective);
    published = introspection.enter(*this);
    failures.enter(*this);
}

void Communicator::open_queues(Traffic traffic) {
    queues_[static_cast<std::size_t>(traffic)] = &queues_of_context(context(traffic));
}

std::uint32_t Communicator::number_collective() {
    if (published) published->collectives.store(collectives_started_ + 1, std::memory_order_relaxed);
    return collectives_started_++;
}

Communicator &Communicator::world() {
    return *predefined_[0];
}

Communicator &Communicator::self() {
    return *predefined_[1];
}

MPI_Comm Communicator::handle() {
    if (this == predefined_[0]) return MPI_COMM_WORLD;
    if (this == predefined_[1]) return MPI_COMM_SELF;
    return reinterpret_cast<MPI_Comm>(this);
}

void Communicator::set_name(std::string_view name) {
    name_ = name.substr(0, MPI_MAX_OBJECT_NAME - 1);
    if (published) Introspection::rename(*published, name_);
}

void Communicator::on_release(Release release) {
    releases().push_back(release);
}

int Communicator::members_here() const {
    bool has_other_jobs = local_->has_other_jobs() || (remote_ && remote_->has_other_jobs());
    if (!processes.are_on_several_nodes() && !has_other_jobs) return size() + (is_inter() ? peers() : 0);
    int count = processes.count_on_node(local_->processes(), node.number());
    if (is_inter()) count += processes.count_on_node(remote_->processes(), node.number());
    return count;
}

void Communicator::release(Communicator &communicator) {
    if (!static_cast<Object &>(communicator).release()) return;
    for (Release layer : releases()) layer(communicator);
    failures.leave(communicator);
    if (communicator.published) introspection.leave(*communicator.published);
    if (communicator.local_communicator) release(*communicator.local_communicator);
    if (communicator.queues_[0]) {
        for (std::uint32_t traffic = 0; traffic < traffic_kinds; traffic++)
            drop_queues(communicator.context_ + traffic);
        leave_context(communicator.context_, communicator.members_here());
    }
    Errhandler::release(*communicator.errhandler);
    Group::release(*communicator.local_);
    if (communicator.remote_) Group::release(*communicator.remote_);
    pool.destroy(&communicator);
}

void set_predefined_communicators(Communicator *world, Communicator *self) {
    Communicator::predefined_ = {world, self};
}

} // namespace volley
