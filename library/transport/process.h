// SPDX-License-Identifier: BSD-3-Clause
/// The processes this one knows, and how messages get to each: what groups, sends, messages and waits name by index.
///
/// Whether a peer is reached through memory or by a connection is decided here, once for each process, when it is
/// entered. Nothing above the transports asks; of these, shared memory finds no ring to a process that is not its own,
/// and hands the message on.
///
/// The processes of this job come first, by their rank in it. Others (of jobs that are spawned or connected) follow in
/// the order in which this process learns of them, which is its own affair: between processes they go by their names.
#pragma once

#include "boot/job.h"

#include <compare>
#include <cstdint>
#include <vector>

namespace volley {

/// Index in this process's table. It means nothing to others.
using ProcessIndex = std::int32_t;

/// What a process is called everywhere. The order decides between two of whom one has to begin.
struct ProcessName {
    std::int32_t job = 0; ///< 0: this one
    std::int32_t rank = 0;

    auto operator<=>(const ProcessName &) const = default;
};

struct Process {
    ProcessName name;
    std::int32_t node = 0;                ///< processes of equal number share memory
    std::int32_t place = -1;              ///< among the processes of this node's arena; -1: of another node
    RankRecord *record = nullptr;         ///< in that arena; nullptr: of another node
    Transport transport = Transport::shm; ///< by which messages go there
};

class ProcessTable {
  public:
    /// Enters the processes of this job, of which this one is number `own`. `on_node` carries messages to those of its
    /// node, but for itself.
    void open(RankRecord *records, int ranks, int own, Transport on_node);
    /// Enters another one.
    ProcessIndex add(const Process &process);

    const Process &operator[](ProcessIndex process) const {
        return processes_[static_cast<std::size_t>(process)];
    }
    int size() const {
        return static_cast<int>(processes_.size());
    }
    /// Of this job.
    int ranks() const {
        return ranks_;
    }
    /// -1: unknown.
    ProcessIndex find(ProcessName name) const;
    /// The process at a place of this node's arena.
    ProcessIndex at_place(std::int32_t place) const {
        return at_place_[static_cast<std::size_t>(place)];
    }
    /// What tools are told; -1: nobody in particular.
    std::int32_t rank_in_job(ProcessIndex process) const {
        return process >= 0 ? (*this)[process].name.rank : -1;
    }
    /// Some do not share memory with others.
    bool are_on_several_nodes() const {
        return several_nodes_;
    }
    /// Some process gets its messages that way.
    bool uses(Transport transport) const;

  private:
    std::vector<Process> processes_;
    std::vector<ProcessIndex> at_place_;
    int ranks_ = 0;
    bool several_nodes_ = false;
};

extern ProcessTable processes;

} // namespace volley
