// SPDX-License-Identifier: BSD-3-Clause
#include "transport/process.h"

#include <algorithm>

namespace volley {

ProcessTable processes;

void ProcessTable::open(RankRecord *records, int ranks, int own, Transport on_node) {
    processes_.clear();
    at_place_.clear();
    ranks_ = ranks;
    several_nodes_ = false;
    for (int rank = 0; rank < ranks; rank++) {
        Process process{.name = {.rank = rank}, .node = records[rank].node};
        if (process.node == records[own].node) {
            process.place = rank; // the launcher keeps the records of all ranks side by side
            process.record = &records[rank];
            process.transport = rank == own ? Transport::shm : on_node;
        } else {
            process.transport = Transport::tcp;
        }
        add(process);
    }
}

ProcessIndex ProcessTable::add(const Process &process) {
    auto index = static_cast<ProcessIndex>(processes_.size());
    processes_.push_back(process);
    several_nodes_ |= process.node != processes_.front().node;
    if (process.place >= 0) {
        auto place = static_cast<std::size_t>(process.place);
        if (place >= at_place_.size()) at_place_.resize(place + 1, -1);
        at_place_[place] = index;
    }
    return index;
}

ProcessIndex ProcessTable::find(ProcessName name) const {
    if (name.job == 0) return name.rank < ranks_ ? name.rank : -1;
    auto found = std::ranges::find(processes_, name, &Process::name);
    return found == processes_.end() ? -1 : static_cast<ProcessIndex>(found - processes_.begin());
}

std::vector<ProcessIndex> ProcessTable::first_of_each_node() const {
    std::vector<ProcessIndex> first;
    for (ProcessIndex process = ranks_ - 1; process >= 0; process--) {
        auto node = static_cast<std::size_t>((*this)[process].node);
        if (node >= first.size()) first.resize(node + 1, -1);
        first[node] = process;
    }
    return first;
}

int ProcessTable::count_on_node(const std::vector<ProcessIndex> &some, std::int32_t node) const {
    return static_cast<int>(std::ranges::count_if(
        some, [&](ProcessIndex process) { return process >= 0 && (*this)[process].node == node; }));
}

bool ProcessTable::uses(Transport transport) const {
    return std::ranges::any_of(processes_, [&](const Process &process) { return process.transport == transport; });
}

} // namespace volley
