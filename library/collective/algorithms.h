// SPDX-License-Identifier: BSD-3-Clause
/// The algorithms of collective operations, as functions that append steps to a schedule.
///
/// An algorithm runs among a team. Where ranks of both groups of an intercommunicator take part, the plans
/// (plans_*.cpp) combine what teams do. The choice of an algorithm may only depend on what all ranks know alike: bytes,
/// not counts or layouts, since the two ends of a message may describe it by different datatypes.
#pragma once

#include "collective/arguments.h"
#include "collective/schedule.h"

namespace volley {

/// Those among whom an algorithm runs.
struct Team {
    Scope scope;
    int rank;
    int size;

    /// The ranks of an intracommunicator.
    static Team all(const Communicator &communicator) {
        return {Scope::peers, communicator.rank(), communicator.size()};
    }
    /// The own group of an intercommunicator.
    static Team local(const Communicator &communicator) {
        return {Scope::local, communicator.rank(), communicator.size()};
    }
};

/// Plain bytes as a block.
Block bytes_at(const void *address, Count bytes);
/// The memory of a block without gaps; false if it has some.
bool flat(const Block &block, char *&address);
/// `count` elements of a reduction's operands.
inline Block operands_at(const Schedule &schedule, const void *address, Count count) {
    return {static_cast<char *>(const_cast<void *>(address)), count, &schedule.reduction().datatype()};
}

// barrier.cpp
void add_barrier(Schedule &schedule, const Team &team);
/// Afterwards rank 0 knows that all ranks have come, and all know that rank 0 has come.
void add_check_in(Schedule &schedule, const Team &team);
void add_release(Schedule &schedule, const Team &team);

// broadcast.cpp
void add_broadcast(Schedule &schedule, const Team &team, const Block &block, int root);

// gather.cpp: `own.type` is nullptr if it is in place already; `all` is significant at the root.
void add_gather(Schedule &schedule, const Team &team, const Block &own, const Blocks &all, Count block_bytes, int root);
void add_gather_each(Schedule &schedule, const Team &team, const Block &own, const Blocks &all, int root);
void add_scatter(Schedule &schedule, const Team &team, const Blocks &all, const Block &own, Count block_bytes,
                 int root);
void add_scatter_each(Schedule &schedule, const Team &team, const Blocks &all, const Block &own, int root);

// allgather.cpp: everyone's block is in place in `all`, or is `own`.
void add_allgather(Schedule &schedule, const Team &team, const Block &own, const Blocks &all);

// alltoall.cpp
void add_alltoall(Schedule &schedule, const Team &team, const Blocks &from, const Blocks &to);
void add_alltoall_in_place(Schedule &schedule, const Team &team, const Blocks &blocks);

// reduce.cpp, all with the schedule's reduction. `own` may be the same as `result`, where that is used.
void add_reduce(Schedule &schedule, const Team &team, const void *own, void *result, Count count, int root);
void add_allreduce(Schedule &schedule, const Team &team, const void *own, void *result, Count count);

/// A vector cut in pieces, one per rank, in elements.
struct Slices {
    std::vector<Count> begin; ///< and the end of the last
    Count length(int i) const {
        auto at = static_cast<std::size_t>(i);
        return begin[at + 1] - begin[at];
    }
    Count total() const {
        return begin.back();
    }
    static Slices even(Count count, int pieces);
    static Slices of(CountArray counts, int pieces);
};

/// Rank i has slice i reduced in `result`. `result` may lie in `own` as slice i, or be apart from `own`.
void add_reduce_scatter(Schedule &schedule, const Team &team, const void *own, void *result, const Slices &slices);

// scan.cpp
void add_scan(Schedule &schedule, const Team &team, const void *own, void *result, Count count);
void add_exscan(Schedule &schedule, const Team &team, const void *own, void *result, Count count);

} // namespace volley
