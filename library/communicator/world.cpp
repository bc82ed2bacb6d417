// SPDX-License-Identifier: BSD-3-Clause
/// The communicators that every process has from the beginning.
#include "collective/area.h"
#include "core/communicator.h"
#include "core/contexts.h"
#include "core/engine.h"
#include "transport/node_shared.h"

#include <sched.h>

namespace volley {

void set_predefined_communicators(Communicator *world, Communicator *self);

namespace {

Communicator *bootstrap = nullptr;

// What NodeShared::world_area holds besides an offset.
constexpr std::uint64_t area_not_begun = 0;
constexpr std::uint64_t area_in_the_making = 1;
constexpr std::uint64_t no_area = 2;

/// The area of MPI_COMM_WORLD, made by the process that comes first. Every process makes MPI_COMM_WORLD itself, so no
/// process sends the area's offset to the others: they find it in NodeShared.
CollectiveArea *world_area() {
    std::atomic<std::uint64_t> &offset = node.shared->world_area;
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

void make_predefined_communicators() {
    Communicator *world = Communicator::make(Group::world(), nullptr, world_context);
    Communicator *self = Communicator::make(Group::self(), nullptr, self_context);
    world->set_name("MPI_COMM_WORLD");
    self->set_name("MPI_COMM_SELF");
    set_predefined_communicators(world, self);
    bootstrap = Communicator::make(Group::world(), nullptr, bootstrap_context);
    if (node.shared->joined.fetch_add(1, std::memory_order_acq_rel) + 1 == node.ranks()) node.wake_all();
}

void free_predefined_communicators() {
    Communicator *world = &Communicator::world(), *self = &Communicator::self();
    set_predefined_communicators(nullptr, nullptr);
    for (Communicator *communicator : {world, self}) Communicator::release(*communicator);
}

void complete_world() {
    engine.wait_until([all = node.ranks()] { return node.shared->joined.load(std::memory_order_acquire) == all; });
    Communicator::world().area = world_area();
}

Communicator &bootstrap_communicator() {
    return *bootstrap;
}

} // namespace volley
