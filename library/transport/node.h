// SPDX-License-Identifier: BSD-3-Clause
/// This rank's place on its node: the arena it shares with the node's other ranks, their records, and how it wakes
/// them.
#pragma once

#include "boot/job.h"
#include "boot/settings.h"
#include "transport/job_shared.h"
#include "wait/sleep.h"

#include <atomic>
#include <cstdint>

namespace volley {

/// Set when the library joins the job, before anything else runs; constant from then on.
struct Node {
    ArenaHead *arena = nullptr;
    JobShared *job = nullptr;
    RankRecord *records = nullptr; ///< of all ranks, in the arena
    RankRecord *own = nullptr;     ///< &records[rank]
    int rank = 0;                  ///< in the job
    int ranks = 1;
    int application = 0;
    Settings settings;
    WaitPolicy wait_policy{};
    FenceKind fences = FenceKind::undecided;
    std::atomic<std::uint32_t> function_without_job{0};

    /// Where the number of the function is that this rank is in, 0 outside of MPI.
    std::atomic<std::uint32_t> &function() {
        return own != nullptr ? own->call_status.function : function_without_job;
    }
    /// Called after changing memory another rank may be waiting on.
    void wake_rank(int world_rank) const {
        wake(records[world_rank], fences);
    }
    /// May this rank use pointers of that one?
    bool may_dereference(int world_rank) const {
        return own->space != 0 && own->space == records[world_rank].space;
    }
    /// There are more ranks than cores: one that spins keeps another from running.
    bool oversubscribed() const {
        return wait_policy.spin_until_ns == 0;
    }
    /// Every rank can have a core of its own, whose caches it shares with no other rank's.
    bool has_own_core() const {
        return !oversubscribed() && arena->ranks <= arena->cores;
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
