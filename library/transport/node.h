// SPDX-License-Identifier: BSD-3-Clause
/// This rank's place on its node: the arena it shares with the node's other ranks, their records, and how it wakes
/// them.
#pragma once

#include "boot/job.h"
#include "boot/settings.h"
#include "transport/node_shared.h"
#include "transport/process.h"
#include "wait/sleep.h"

#include <atomic>
#include <cstdint>

namespace volley {

/// Set when the library joins the job, before anything else runs; constant from then on.
struct Node {
    ArenaHead *arena = nullptr;
    NodeShared *shared = nullptr;
    RankRecord *own = nullptr;
    int rank = 0; ///< in the job: also its index in the table of processes
    int application = 0;
    int universe_size = 0; ///< 0: unknown
    Settings settings;
    WaitPolicy wait_policy{};
    FenceKind fences = FenceKind::undecided;
    std::atomic<std::uint32_t> function_without_job{0};

    /// The number of the MPI function that this rank is in; 0 outside of MPI.
    std::atomic<std::uint32_t> &function() {
        return own != nullptr ? own->call_status.function : function_without_job;
    }
    /// The number of its node in the job.
    std::int32_t number() const {
        return processes[rank].node;
    }
    /// How many ranks of the job are on its node.
    std::uint32_t ranks() const {
        return node_records(arena)[number()].ranks;
    }
    /// This process's place among those of its node.
    std::int32_t place() const {
        return processes[rank].place;
    }
    Inbox *inbox(std::int32_t of_place) const {
        return shared->inbox(of_place, static_cast<int>(arena->ranks));
    }
    /// Called after changing memory that another rank of this node may be waiting on.
    void wake_rank(ProcessIndex process) const {
        wake(*processes[process].record, fences);
    }
    /// Called after changing memory that any rank of this host may be waiting on.
    void wake_all() const;
    /// Whether this rank may use pointers of that process.
    bool may_dereference(ProcessIndex process) const {
        const RankRecord *record = processes[process].record;
        return record != nullptr && own->space != 0 && own->space == record->space;
    }
    /// How a process has failed, if it has, in a job that outlives that. The launcher tells it of ranks of other hosts
    /// by the records that this host has of them.
    Failure failure_of(ProcessIndex process) const {
        const RankRecord *record = processes[process].record;
        if (record == nullptr && process < processes.ranks()) record = &rank_records(arena)[process];
        return record != nullptr ? record->failure.load(std::memory_order_acquire) : Failure::none;
    }
    bool has_failed(ProcessIndex process) const {
        return failure_of(process) != Failure::none;
    }
    /// There are more ranks than cores: a rank that spins may keep another from running.
    bool oversubscribed() const {
        return wait_policy.spin_until_ns == 0;
    }
    /// Every rank can have a core of its own, whose caches it shares with no other rank's.
    bool has_own_core() const {
        return !oversubscribed() && arena->ranks_here <= arena->cores;
    }
};

extern Node node;

inline std::uint64_t arena_offset(const void *address) {
    return static_cast<std::uint64_t>(static_cast<const char *>(address) - reinterpret_cast<char *>(node.arena));
}
template <class Type> Type *arena_pointer(std::uint64_t offset) {
    return reinterpret_cast<Type *>(reinterpret_cast<char *>(node.arena) + offset);
}

} // namespace volley
