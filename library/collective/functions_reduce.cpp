// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Reduce and its relatives in their three forms.
#include "collective/hierarchical.h"
#include "collective/plans.h"
#include "collective/run.h"
#include "collective/shared.h"

#include <core/functions.h>

namespace volley::mpi {

int Reduce(const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, Operation &operation, int root,
           Communicator &communicator) {
    int code;
    const PassedOperands operands{sendbuf, recvbuf, count, datatype};
    if (shared_reduce(communicator, code, operands, operation, root) ||
        hierarchical_reduce(communicator, code, operands, operation, root))
        return code;
    return blocking(plan_reduce, "MPI_Reduce", communicator, PassedOperands{sendbuf, recvbuf, count, datatype},
                    operation, root);
}

int Ireduce(const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, Operation &operation, int root,
            Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_reduce, "MPI_Ireduce", communicator, request,
                       PassedOperands{sendbuf, recvbuf, count, datatype}, operation, root);
}

int Reduce_init(const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, Operation &operation, int root,
                Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_reduce, "MPI_Reduce_init", communicator, request,
                      PassedOperands{sendbuf, recvbuf, count, datatype}, operation, root);
}

int Allreduce(const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, Operation &operation,
              Communicator &communicator) {
    int code;
    const PassedOperands operands{sendbuf, recvbuf, count, datatype};
    if (shared_allreduce(communicator, code, operands, operation) ||
        hierarchical_allreduce(communicator, code, operands, operation))
        return code;
    return blocking(plan_allreduce, "MPI_Allreduce", communicator, PassedOperands{sendbuf, recvbuf, count, datatype},
                    operation);
}

int Iallreduce(const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, Operation &operation,
               Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_allreduce, "MPI_Iallreduce", communicator, request,
                       PassedOperands{sendbuf, recvbuf, count, datatype}, operation);
}

int Allreduce_init(const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, Operation &operation,
                   Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_allreduce, "MPI_Allreduce_init", communicator, request,
                      PassedOperands{sendbuf, recvbuf, count, datatype}, operation);
}

int Reduce_scatter(const void *sendbuf, void *recvbuf, CountArray recvcounts, MPI_Datatype datatype,
                   Operation &operation, Communicator &communicator) {
    int code;
    if (shared_reduce_scatter(communicator, code, PassedOperands{sendbuf, recvbuf, 0, datatype}, recvcounts, operation))
        return code;
    return blocking(plan_reduce_scatter, "MPI_Reduce_scatter", communicator,
                    PassedOperands{sendbuf, recvbuf, 0, datatype}, recvcounts, operation);
}

int Ireduce_scatter(const void *sendbuf, void *recvbuf, CountArray recvcounts, MPI_Datatype datatype,
                    Operation &operation, Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_reduce_scatter, "MPI_Ireduce_scatter", communicator, request,
                       PassedOperands{sendbuf, recvbuf, 0, datatype}, recvcounts, operation);
}

int Reduce_scatter_init(const void *sendbuf, void *recvbuf, CountArray recvcounts, MPI_Datatype datatype,
                        Operation &operation, Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_reduce_scatter, "MPI_Reduce_scatter_init", communicator, request,
                      PassedOperands{sendbuf, recvbuf, 0, datatype}, recvcounts, operation);
}

int Reduce_scatter_block(const void *sendbuf, void *recvbuf, Count recvcount, MPI_Datatype datatype,
                         Operation &operation, Communicator &communicator) {
    int code;
    if (shared_reduce_scatter_block(communicator, code, PassedOperands{sendbuf, recvbuf, recvcount, datatype},
                                    operation))
        return code;
    return blocking(plan_reduce_scatter_block, "MPI_Reduce_scatter_block", communicator,
                    PassedOperands{sendbuf, recvbuf, recvcount, datatype}, operation);
}

int Ireduce_scatter_block(const void *sendbuf, void *recvbuf, Count recvcount, MPI_Datatype datatype,
                          Operation &operation, Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_reduce_scatter_block, "MPI_Ireduce_scatter_block", communicator, request,
                       PassedOperands{sendbuf, recvbuf, recvcount, datatype}, operation);
}

int Reduce_scatter_block_init(const void *sendbuf, void *recvbuf, Count recvcount, MPI_Datatype datatype,
                              Operation &operation, Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_reduce_scatter_block, "MPI_Reduce_scatter_block_init", communicator, request,
                      PassedOperands{sendbuf, recvbuf, recvcount, datatype}, operation);
}

int Scan(const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, Operation &operation,
         Communicator &communicator) {
    int code;
    if (shared_scan(communicator, code, PassedOperands{sendbuf, recvbuf, count, datatype}, operation, false))
        return code;
    return blocking(plan_scan, "MPI_Scan", communicator, PassedOperands{sendbuf, recvbuf, count, datatype}, operation);
}

int Iscan(const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, Operation &operation,
          Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_scan, "MPI_Iscan", communicator, request, PassedOperands{sendbuf, recvbuf, count, datatype},
                       operation);
}

int Scan_init(const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, Operation &operation,
              Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_scan, "MPI_Scan_init", communicator, request,
                      PassedOperands{sendbuf, recvbuf, count, datatype}, operation);
}

int Exscan(const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, Operation &operation,
           Communicator &communicator) {
    int code;
    if (shared_scan(communicator, code, PassedOperands{sendbuf, recvbuf, count, datatype}, operation, true))
        return code;
    return blocking(plan_exscan, "MPI_Exscan", communicator, PassedOperands{sendbuf, recvbuf, count, datatype},
                    operation);
}

int Iexscan(const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, Operation &operation,
            Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_exscan, "MPI_Iexscan", communicator, request,
                       PassedOperands{sendbuf, recvbuf, count, datatype}, operation);
}

int Exscan_init(const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, Operation &operation,
                Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_exscan, "MPI_Exscan_init", communicator, request,
                      PassedOperands{sendbuf, recvbuf, count, datatype}, operation);
}

} // namespace volley::mpi
