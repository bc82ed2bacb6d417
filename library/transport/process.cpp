// SPDX-License-Identifier: BSD-3-Clause
#include "transport/process.h"

#include <algorithm>

namespace volley {

ProcessTable processes;

namespace {

/// No job has this number.
constexpr std::uint64_t no_job = UINT64_MAX;

} // namespace

void ProcessTable::open(RankRecord *records, int ranks, int own, Transport on_node, std::uint64_t job) {
    processes_.clear();
    contacts_.clear();
    free_.clear();
    at_place_.clear();
    job_ = job;
    ranks_ = ranks;
    next_node_ = 0;
    several_nodes_ = false;
    for (int rank = 0; rank < ranks; rank++) {
        Process process{.name = {.job = job, .rank = rank}, .node = records[rank].node};
        if (process.node == records[own].node) {
            process.place = rank; // the launcher keeps the records of all ranks side by side
            process.record = &records[rank];
            process.transport = rank == own || on_node == Transport::shm ? Transport::shm : Transport::tcp;
        } else {
            process.transport = Transport::tcp;
        }
        add(process);
    }
}

ProcessIndex ProcessTable::add(const Process &process) {
    auto index = static_cast<ProcessIndex>(processes_.size());
    processes_.push_back(process);
    next_node_ = std::max(next_node_, process.node + 1);
    if (is_of_other_job(index))
        contacts_.emplace_back();
    else
        several_nodes_ |= process.node != processes_.front().node;
    if (process.place >= 0) {
        auto place = static_cast<std::size_t>(process.place);
        if (place >= at_place_.size()) at_place_.resize(place + 1, -1);
        at_place_[place] = index;
    }
    return index;
}

ProcessIndex ProcessTable::introduce(ProcessName name, const Contact &contact) {
    ProcessIndex index = find(name);
    if (index >= 0 && !is_of_other_job(index)) return index;
    if (index < 0) {
        Process made{.name = name, .node = next_node_, .transport = Transport::tcp};
        for (ProcessIndex other = ranks_; other < size(); other++)
            if ((*this)[other].name.job == name.job && this->contact(other).node == contact.node)
                made.node = (*this)[other].node;
        next_node_ = std::max(next_node_, made.node + 1);
        if (free_.empty()) {
            index = add(made);
        } else {
            index = free_.back();
            free_.pop_back();
            processes_[static_cast<std::size_t>(index)] = made;
        }
    }
    Contact &known = contacts_[static_cast<std::size_t>(index - ranks_)];
    known.address = contact.address;
    known.port = contact.port;
    known.host_socket = contact.host_socket;
    known.node = contact.node;
    known.secrets.insert(known.secrets.end(), contact.secrets.begin(), contact.secrets.end());
    return index;
}

void ProcessTable::forget(ProcessIndex process) {
    processes_[static_cast<std::size_t>(process)].name.job = no_job;
    contacts_[static_cast<std::size_t>(process - ranks_)] = {};
    free_.push_back(process);
}

ProcessIndex ProcessTable::find(ProcessName name) const {
    if (name.job == job_) return name.rank >= 0 && name.rank < ranks_ ? name.rank : -1;
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
