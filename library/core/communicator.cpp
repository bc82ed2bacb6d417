// SPDX-License-Identifier: BSD-3-Clause
#include "core/communicator.h"

#include "collective/area.h"
#include "core/contexts.h"
#include "core/engine.h"
#include "core/errhandler.h"
#include "core/introspection.h"
#include "core/job_shared.h"
#include "core/matching.h"

#include <sched.h>

#include <algorithm>

namespace volley {
namespace {

Pool<Communicator> pool;

/// Layers register while the library is loaded, in any order.
std::vector<Communicator::Release> &releases() {
    static std::vector<Communicator::Release> registered;
    return registered;
}

Communicator *bootstrap = nullptr;

// What JobShared::world_area holds besides an offset.
constexpr std::uint64_t area_not_begun = 0;
constexpr std::uint64_t area_in_the_making = 1;
constexpr std::uint64_t no_area = 2;

/// The area of MPI_COMM_WORLD is made by the process that comes first, as nobody can be told before it exists.
CollectiveArea *world_area() {
    std::atomic<std::uint64_t> &offset = engine.job->world_area;
    std::uint64_t seen = area_not_begun;
    if (offset.compare_exchange_strong(seen, area_in_the_making, std::memory_order_acquire)) {
        CollectiveArea *area = make_area(Group::world());
        offset.store(area ? arena_offset(area) : no_area, std::memory_order_release);
        return area;
    }
    while ((seen = offset.load(std::memory_order_acquire)) == area_in_the_making) sched_yield();
    return seen == no_area ? nullptr : arena_pointer<CollectiveArea>(seen);
}

} // namespace

std::array<Communicator *, 2> Communicator::predefined_{};

Communicator::Communicator(Group &local, Group *remote)
    : Object(kind), rank_(local.rank()), size_(local.size()), peers_(remote ? remote->size() : local.size()),
      peer_world_ranks_((remote ? *remote : local).world_ranks().data()), local_(&local), remote_(remote) {
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
    for (std::uint32_t traffic = 0; traffic < queues_.size(); traffic++)
        queues_[traffic] = &queues_of_context(context + traffic);
    published = introspection.enter(*this);
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

void Communicator::release(Communicator &communicator) {
    if (!static_cast<Object &>(communicator).release()) return;
    for (Release layer : releases()) layer(communicator);
    if (communicator.published) introspection.leave(*communicator.published);
    if (communicator.local_communicator) release(*communicator.local_communicator);
    if (communicator.queues_[0]) {
        for (MatchQueues *queues : communicator.queues_) drop_queues(queues->context);
        leave_context(communicator.context_);
    }
    Errhandler::release(*communicator.errhandler);
    Group::release(*communicator.local_);
    if (communicator.remote_) Group::release(*communicator.remote_);
    pool.destroy(&communicator);
}

void set_predefined_communicators(Communicator *world, Communicator *self) {
    Communicator::predefined_ = {world, self};
}

void make_predefined_communicators() {
    Communicator *world = Communicator::make(Group::world(), nullptr, world_context);
    Communicator *self = Communicator::make(Group::self(), nullptr, self_context);
    world->set_name("MPI_COMM_WORLD");
    self->set_name("MPI_COMM_SELF");
    set_predefined_communicators(world, self);
    bootstrap = Communicator::make(Group::world(), nullptr, bootstrap_context);
    auto all = static_cast<std::uint32_t>(engine.ranks);
    if (engine.job->joined.fetch_add(1, std::memory_order_acq_rel) + 1 == all)
        for (int rank = 0; rank < engine.ranks; rank++) engine.wake_rank(rank);
}

void free_predefined_communicators() {
    Communicator *world = &Communicator::world(), *self = &Communicator::self();
    set_predefined_communicators(nullptr, nullptr);
    for (Communicator *communicator : {world, self}) Communicator::release(*communicator);
}

void complete_world() {
    auto all = static_cast<std::uint32_t>(engine.ranks);
    engine.wait_until([all] { return engine.job->joined.load(std::memory_order_acquire) == all; });
    Communicator::world().area = world_area();
}

Communicator &bootstrap_communicator() {
    return *bootstrap;
}

} // namespace volley
