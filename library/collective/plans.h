// SPDX-License-Identifier: BSD-3-Clause
/// What each collective function does, in all of its forms: arguments checked, and the steps of this rank.
/// Parameters are those of the function without the communicator, which is the schedule's.
#pragma once

#include "collective/arguments.h"
#include "collective/schedule.h"

namespace volley {

int plan_barrier(Schedule &schedule);
int plan_broadcast(Schedule &schedule, const Passed &data, int root);
int plan_gather(Schedule &schedule, const Passed &own, const Passed &all, int root);
int plan_gather_each(Schedule &schedule, const Passed &own, const PassedEach &all, int root);
int plan_scatter(Schedule &schedule, const Passed &all, const Passed &own, int root);
int plan_scatter_each(Schedule &schedule, const PassedEach &all, const Passed &own, int root);
int plan_allgather(Schedule &schedule, const Passed &own, const Passed &all);
int plan_allgather_each(Schedule &schedule, const Passed &own, const PassedEach &all);
int plan_alltoall(Schedule &schedule, const Passed &from, const Passed &to);
int plan_alltoall_each(Schedule &schedule, const PassedEach &from, const PassedEach &to);
int plan_alltoall_mixed(Schedule &schedule, const PassedMixed &from, const PassedMixed &to);

/// Both buffers of a reduction, which share count and datatype.
struct PassedOperands {
    const void *own;
    void *result;
    Count count;
    MPI_Datatype type;
};

int plan_reduce(Schedule &schedule, const PassedOperands &operands, Operation &operation, int root);
int plan_allreduce(Schedule &schedule, const PassedOperands &operands, Operation &operation);
/// The operands' count is that of each rank.
int plan_reduce_scatter_block(Schedule &schedule, const PassedOperands &operands, Operation &operation);
/// The operands' count is not used.
int plan_reduce_scatter(Schedule &schedule, const PassedOperands &operands, CountArray counts, Operation &operation);
int plan_scan(Schedule &schedule, const PassedOperands &operands, Operation &operation);
int plan_exscan(Schedule &schedule, const PassedOperands &operands, Operation &operation);

int plan_neighbour_allgather(Schedule &schedule, const Passed &own, const Passed &all);
int plan_neighbour_allgather_each(Schedule &schedule, const Passed &own, const PassedEach &all);
int plan_neighbour_alltoall(Schedule &schedule, const Passed &from, const Passed &to);
int plan_neighbour_alltoall_each(Schedule &schedule, const PassedEach &from, const PassedEach &to);
int plan_neighbour_alltoall_mixed(Schedule &schedule, const PassedMixed &from, const PassedMixed &to);

} // namespace volley
