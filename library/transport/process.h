// SPDX-License-Identifier: BSD-3-Clause
/// The processes that this process knows, and the transport to each. Groups, sends, messages and waits name a process
/// by its index here.
///
/// The transport to a process is chosen once, here, when the process is added. Nothing above the transports asks for
/// it. If the chosen transport is another one, shared memory finds no ring to the process and hands the message on.
///
/// The processes of this job come first, by their rank in it. Others (of jobs that are spawned or connected) follow in
/// the order in which this process learns of them. That order is local, so processes refer to each other by name.
#pragma once

#include "boot/job.h"

#include <compare>
#include <cstdint>
#include <vector>

namespace volley {

/// Index in this process's table. It means nothing to other processes.
using ProcessIndex = std::int32_t;

/// The name of a process, the same everywhere. The order of names decides which of two processes has to begin.
struct ProcessName {
    std::uint64_t job = 0; ///< its number: job_number()
    std::int32_t rank = 0;

    auto operator<=>(const ProcessName &) const = default;
};

struct Process {
    ProcessName name;
    std::int32_t node = 0;                ///< processes of equal number share memory
    std::int32_t place = -1;              ///< among the processes of this node's arena; -1: of another node
    RankRecord *record = nullptr;         ///< in this node's arena; nullptr: of another node
    Transport transport = Transport::shm; ///< carries the messages to it
};

/// How a process of another job is reached, and recognised.
struct Contact {
    NetworkAddress address = {};
    std::uint16_t port = 0;
    std::uint32_t host_socket = 0; ///< where processes of its host reach it, to share memory; 0: it is on another host
    std::int32_t node = 0;         ///< its number in that job
    /// What the two prove to know. Each connection between their jobs adds one; a process that connects uses the last,
    /// and accepts all, since the other may be connecting already.
    std::vector<Secret> secrets = {};
    int references = 0; ///< groups that have the process
};

class ProcessTable {
  public:
    /// Adds the processes of the job with that number, of which this process is number `own`. `on_node` carries
    /// messages between processes of one node, except from a process to itself.
    void open(RankRecord *records, int ranks, int own, Transport on_node, std::uint64_t job = 0);
    /// Adds a process.
    ProcessIndex add(const Process &process);

    /// Adds a process that may be one of another job; if it is known already, its contact is renewed. It stays while
    /// groups have it.
    ProcessIndex introduce(ProcessName name, const Contact &contact);
    bool is_of_other_job(ProcessIndex process) const {
        return process >= ranks_;
    }
    /// Of a process of another job.
    const Contact &contact(ProcessIndex process) const {
        return contacts_[static_cast<std::size_t>(process - ranks_)];
    }
    void retain(ProcessIndex process) {
        contacts_[static_cast<std::size_t>(process - ranks_)].references++;
    }
    /// True if no group has the process any more.
    bool release(ProcessIndex process) {
        return --contacts_[static_cast<std::size_t>(process - ranks_)].references == 0;
    }
    /// Nothing depends on this process of another job any more: its index becomes free.
    void forget(ProcessIndex process);

    const Process &operator[](ProcessIndex process) const {
        return processes_[static_cast<std::size_t>(process)];
    }
    int size() const {
        return static_cast<int>(processes_.size());
    }
    /// The number of processes of this job.
    int ranks() const {
        return ranks_;
    }
    /// The index of a process; -1 if it is unknown.
    ProcessIndex find(ProcessName name) const;
    /// The first process of each node of this job; it speaks for the node.
    std::vector<ProcessIndex> first_of_each_node() const;
    /// How many of some processes are on a node.
    int count_on_node(const std::vector<ProcessIndex> &some, std::int32_t node) const;
    /// The process at a place of this node's arena.
    ProcessIndex at_place(std::int32_t place) const {
        return at_place_[static_cast<std::size_t>(place)];
    }
    /// The rank that is shown to tools; -1 for no particular process, and for those of other jobs.
    std::int32_t rank_in_job(ProcessIndex process) const {
        return process >= 0 && process < ranks_ ? process : -1;
    }
    /// Some processes of this job do not share memory with others.
    bool are_on_several_nodes() const {
        return several_nodes_;
    }
    /// Some process gets its messages by that transport.
    bool uses(Transport transport) const;

  private:
    std::vector<Process> processes_;
    std::vector<Contact> contacts_; ///< of those of other jobs
    std::vector<ProcessIndex> free_;
    std::vector<ProcessIndex> at_place_;
    std::uint64_t job_ = 0;
    int ranks_ = 0;
    std::int32_t next_node_ = 0; ///< number of the next node of another job
    bool several_nodes_ = false;
};

extern ProcessTable processes;

} // namespace volley
