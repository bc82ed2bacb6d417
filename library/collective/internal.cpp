// SPDX-License-Identifier: BSD-3-Clause
#include "collective/internal.h"

#include "collective/plans.h"
#include "collective/run.h"

namespace volley {
namespace {

int allreduce(std::int64_t *values, Count count, MPI_Op operation, Communicator &communicator) {
    return blocking(plan_allreduce, "an agreement", communicator,
                    PassedOperands{MPI_IN_PLACE, values, count, MPI_INT64_T}, *Operation::from_handle(operation));
}

} // namespace

int broadcast(void *data, Count bytes, int root, Communicator &communicator) {
    return blocking(plan_broadcast, "a broadcast", communicator, Passed{data, bytes, MPI_BYTE}, root);
}

int allgather(const void *mine, Count bytes_each, void *all, Communicator &communicator) {
    return blocking(plan_allgather, "an exchange", communicator, Passed{mine, bytes_each, MPI_BYTE},
                    Passed{all, bytes_each, MPI_BYTE});
}

int barrier(Communicator &communicator) {
    return blocking(plan_barrier, "a barrier", communicator);
}

int allreduce_max(std::int64_t *values, Count count, Communicator &communicator) {
    return allreduce(values, count, MPI_MAX, communicator);
}

int allreduce_min(std::int64_t *values, Count count, Communicator &communicator) {
    return allreduce(values, count, MPI_MIN, communicator);
}

int allreduce_sum(std::int64_t *values, Count count, Communicator &communicator) {
    return allreduce(values, count, MPI_SUM, communicator);
}

int allreduce_and(std::int64_t *values, Count count, Communicator &communicator) {
    return allreduce(values, count, MPI_BAND, communicator);
}

} // namespace volley
