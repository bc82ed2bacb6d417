// SPDX-License-Identifier: BSD-3-Clause
#include "core/session.h"

#include "core/errhandler.h"
#include "core/group.h"
#include "transport/node.h"

#include <algorithm>
#include <cctype>

namespace volley {
namespace {

Pool<Session> pool;

std::vector<ProcessSet> find_process_sets() {
    std::vector<ProcessSet> sets = {
        {"mpi://WORLD", &Group::world()}, {"mpi://SELF", &Group::self()}, {"mpi://SHARED", &Group::shared()}};
    for (const NamedRanks &named : node.settings.process_sets) {
        if (!std::ranges::binary_search(named.ranks, node.rank)) continue;
        // Ranks that the job does not have are none of its processes.
        std::vector<ProcessIndex> members(named.ranks.begin(),
                                          std::ranges::lower_bound(named.ranks, processes.ranks()));
        sets.push_back({named.name, Group::make(std::move(members))});
    }
    return sets;
}

} // namespace

Session::Session(Errhandler &handler, int thread_level)
    : Object(kind), errhandler(&handler), thread_level_(thread_level) {
    handler.retain();
}

Session *Session::make(Errhandler &errhandler, int thread_level) {
    return pool.make(errhandler, thread_level);
}

void Session::destroy(Session &session) {
    Errhandler::release(*session.errhandler);
    pool.destroy(&session);
}

const std::vector<ProcessSet> &process_sets() {
    static const auto *sets = new std::vector<ProcessSet>(find_process_sets()); // outlives static destructors
    return *sets;
}

const ProcessSet *find_process_set(std::string_view name) {
    auto same = [](unsigned char one, unsigned char other) { return std::tolower(one) == std::tolower(other); };
    for (const ProcessSet &set : process_sets())
        if (std::ranges::equal(set.name, name, same)) return &set;
    return nullptr;
}

} // namespace volley
