// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Barrier, MPI_Bcast, MPI_Gather and the others that move data, in their three forms.
#include "collective/hierarchical.h"
#include "collective/plans.h"
#include "collective/run.h"
#include "collective/shared.h"

#include <core/functions.h>

namespace volley::mpi {

int Barrier(Communicator &communicator) {
    int code;
    if (shared_barrier(communicator, code) || hierarchical_barrier(communicator, code)) return code;
    return blocking(plan_barrier, "MPI_Barrier", communicator);
}

int Ibarrier(Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_barrier, "MPI_Ibarrier", communicator, request);
}

int Barrier_init(Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_barrier, "MPI_Barrier_init", communicator, request);
}

int Bcast(void *buffer, Count count, MPI_Datatype datatype, int root, Communicator &communicator) {
    int code;
    const Passed data{buffer, count, datatype};
    if (shared_broadcast(communicator, code, data, root) || hierarchical_broadcast(communicator, code, data, root))
        return code;
    return blocking(plan_broadcast, "MPI_Bcast", communicator, Passed{buffer, count, datatype}, root);
}

int Ibcast(void *buffer, Count count, MPI_Datatype datatype, int root, Communicator &communicator,
           MPI_Request *request) {
    return nonblocking(plan_broadcast, "MPI_Ibcast", communicator, request, Passed{buffer, count, datatype}, root);
}

int Bcast_init(void *buffer, Count count, MPI_Datatype datatype, int root, Communicator &communicator, Info *,
               MPI_Request *request) {
    return persistent(plan_broadcast, "MPI_Bcast_init", communicator, request, Passed{buffer, count, datatype}, root);
}

int Gather(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
           MPI_Datatype recvtype, int root, Communicator &communicator) {
    int code;
    if (shared_gather(communicator, code, Passed{sendbuf, sendcount, sendtype}, Passed{recvbuf, recvcount, recvtype},
                      root))
        return code;
    return blocking(plan_gather, "MPI_Gather", communicator, Passed{sendbuf, sendcount, sendtype},
                    Passed{recvbuf, recvcount, recvtype}, root);
}

int Igather(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
            MPI_Datatype recvtype, int root, Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_gather, "MPI_Igather", communicator, request, Passed{sendbuf, sendcount, sendtype},
                       Passed{recvbuf, recvcount, recvtype}, root);
}

int Gather_init(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
                MPI_Datatype recvtype, int root, Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_gather, "MPI_Gather_init", communicator, request, Passed{sendbuf, sendcount, sendtype},
                      Passed{recvbuf, recvcount, recvtype}, root);
}

int Gatherv(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, CountArray recvcounts,
            CountArray displs, MPI_Datatype recvtype, int root, Communicator &communicator) {
    int code;
    if (shared_gather(communicator, code, Passed{sendbuf, sendcount, sendtype},
                      PassedEach{recvbuf, recvcounts, displs, recvtype}, root))
        return code;
    return blocking(plan_gather_each, "MPI_Gatherv", communicator, Passed{sendbuf, sendcount, sendtype},
                    PassedEach{recvbuf, recvcounts, displs, recvtype}, root);
}

int Igatherv(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, CountArray recvcounts,
             CountArray displs, MPI_Datatype recvtype, int root, Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_gather_each, "MPI_Igatherv", communicator, request, Passed{sendbuf, sendcount, sendtype},
                       PassedEach{recvbuf, recvcounts, displs, recvtype}, root);
}

int Gatherv_init(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, CountArray recvcounts,
                 CountArray displs, MPI_Datatype recvtype, int root, Communicator &communicator, Info *,
                 MPI_Request *request) {
    return persistent(plan_gather_each, "MPI_Gatherv_init", communicator, request, Passed{sendbuf, sendcount, sendtype},
                      PassedEach{recvbuf, recvcounts, displs, recvtype}, root);
}

int Scatter(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
            MPI_Datatype recvtype, int root, Communicator &communicator) {
    int code;
    if (shared_scatter(communicator, code, Passed{sendbuf, sendcount, sendtype}, Passed{recvbuf, recvcount, recvtype},
                       root))
        return code;
    return blocking(plan_scatter, "MPI_Scatter", communicator, Passed{sendbuf, sendcount, sendtype},
                    Passed{recvbuf, recvcount, recvtype}, root);
}

int Iscatter(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
             MPI_Datatype recvtype, int root, Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_scatter, "MPI_Iscatter", communicator, request, Passed{sendbuf, sendcount, sendtype},
                       Passed{recvbuf, recvcount, recvtype}, root);
}

int Scatter_init(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
                 MPI_Datatype recvtype, int root, Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_scatter, "MPI_Scatter_init", communicator, request, Passed{sendbuf, sendcount, sendtype},
                      Passed{recvbuf, recvcount, recvtype}, root);
}

int Scatterv(const void *sendbuf, CountArray sendcounts, CountArray displs, MPI_Datatype sendtype, void *recvbuf,
             Count recvcount, MPI_Datatype recvtype, int root, Communicator &communicator) {
    int code;
    if (shared_scatter(communicator, code, PassedEach{sendbuf, sendcounts, displs, sendtype},
                       Passed{recvbuf, recvcount, recvtype}, root))
        return code;
    return blocking(plan_scatter_each, "MPI_Scatterv", communicator, PassedEach{sendbuf, sendcounts, displs, sendtype},
                    Passed{recvbuf, recvcount, recvtype}, root);
}

int Iscatterv(const void *sendbuf, CountArray sendcounts, CountArray displs, MPI_Datatype sendtype, void *recvbuf,
              Count recvcount, MPI_Datatype recvtype, int root, Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_scatter_each, "MPI_Iscatterv", communicator, request,
                       PassedEach{sendbuf, sendcounts, displs, sendtype}, Passed{recvbuf, recvcount, recvtype}, root);
}

int Scatterv_init(const void *sendbuf, CountArray sendcounts, CountArray displs, MPI_Datatype sendtype, void *recvbuf,
                  Count recvcount, MPI_Datatype recvtype, int root, Communicator &communicator, Info *,
                  MPI_Request *request) {
    return persistent(plan_scatter_each, "MPI_Scatterv_init", communicator, request,
                      PassedEach{sendbuf, sendcounts, displs, sendtype}, Passed{recvbuf, recvcount, recvtype}, root);
}

int Allgather(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
              MPI_Datatype recvtype, Communicator &communicator) {
    int code;
    const Passed own{sendbuf, sendcount, sendtype}, all{recvbuf, recvcount, recvtype};
    if (shared_allgather(communicator, code, own, all) || hierarchical_allgather(communicator, code, own, all))
        return code;
    return blocking(plan_allgather, "MPI_Allgather", communicator, Passed{sendbuf, sendcount, sendtype},
                    Passed{recvbuf, recvcount, recvtype});
}

int Iallgather(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
               MPI_Datatype recvtype, Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_allgather, "MPI_Iallgather", communicator, request, Passed{sendbuf, sendcount, sendtype},
                       Passed{recvbuf, recvcount, recvtype});
}

int Allgather_init(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
                   MPI_Datatype recvtype, Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_allgather, "MPI_Allgather_init", communicator, request, Passed{sendbuf, sendcount, sendtype},
                      Passed{recvbuf, recvcount, recvtype});
}

int Allgatherv(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, CountArray recvcounts,
               CountArray displs, MPI_Datatype recvtype, Communicator &communicator) {
    int code;
    if (shared_allgather(communicator, code, Passed{sendbuf, sendcount, sendtype},
                         PassedEach{recvbuf, recvcounts, displs, recvtype}))
        return code;
    return blocking(plan_allgather_each, "MPI_Allgatherv", communicator, Passed{sendbuf, sendcount, sendtype},
                    PassedEach{recvbuf, recvcounts, displs, recvtype});
}

int Iallgatherv(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, CountArray recvcounts,
                CountArray displs, MPI_Datatype recvtype, Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_allgather_each, "MPI_Iallgatherv", communicator, request,
                       Passed{sendbuf, sendcount, sendtype}, PassedEach{recvbuf, recvcounts, displs, recvtype});
}

int Allgatherv_init(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, CountArray recvcounts,
                    CountArray displs, MPI_Datatype recvtype, Communicator &communicator, Info *,
                    MPI_Request *request) {
    return persistent(plan_allgather_each, "MPI_Allgatherv_init", communicator, request,
                      Passed{sendbuf, sendcount, sendtype}, PassedEach{recvbuf, recvcounts, displs, recvtype});
}

int Alltoall(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
             MPI_Datatype recvtype, Communicator &communicator) {
    int code;
    const Passed from{sendbuf, sendcount, sendtype}, to{recvbuf, recvcount, recvtype};
    if (shared_alltoall(communicator, code, from, to) || hierarchical_alltoall(communicator, code, from, to))
        return code;
    return blocking(plan_alltoall, "MPI_Alltoall", communicator, Passed{sendbuf, sendcount, sendtype},
                    Passed{recvbuf, recvcount, recvtype});
}

int Ialltoall(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
              MPI_Datatype recvtype, Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_alltoall, "MPI_Ialltoall", communicator, request, Passed{sendbuf, sendcount, sendtype},
                       Passed{recvbuf, recvcount, recvtype});
}

int Alltoall_init(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
                  MPI_Datatype recvtype, Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_alltoall, "MPI_Alltoall_init", communicator, request, Passed{sendbuf, sendcount, sendtype},
                      Passed{recvbuf, recvcount, recvtype});
}

int Alltoallv(const void *sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype, void *recvbuf,
              CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype, Communicator &communicator) {
    int code;
    if (shared_alltoall(communicator, code, PassedEach{sendbuf, sendcounts, sdispls, sendtype},
                        PassedEach{recvbuf, recvcounts, rdispls, recvtype}))
        return code;
    return blocking(plan_alltoall_each, "MPI_Alltoallv", communicator,
                    PassedEach{sendbuf, sendcounts, sdispls, sendtype},
                    PassedEach{recvbuf, recvcounts, rdispls, recvtype});
}

int Ialltoallv(const void *sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype, void *recvbuf,
               CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype, Communicator &communicator,
               MPI_Request *request) {
    return nonblocking(plan_alltoall_each, "MPI_Ialltoallv", communicator, request,
                       PassedEach{sendbuf, sendcounts, sdispls, sendtype},
                       PassedEach{recvbuf, recvcounts, rdispls, recvtype});
}

int Alltoallv_init(const void *sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype, void *recvbuf,
                   CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype, Communicator &communicator, Info *,
                   MPI_Request *request) {
    return persistent(plan_alltoall_each, "MPI_Alltoallv_init", communicator, request,
                      PassedEach{sendbuf, sendcounts, sdispls, sendtype},
                      PassedEach{recvbuf, recvcounts, rdispls, recvtype});
}

int Alltoallw(const void *sendbuf, CountArray sendcounts, CountArray sdispls, const MPI_Datatype *sendtypes,
              void *recvbuf, CountArray recvcounts, CountArray rdispls, const MPI_Datatype *recvtypes,
              Communicator &communicator) {
    return blocking(plan_alltoall_mixed, "MPI_Alltoallw", communicator,
                    PassedMixed{sendbuf, sendcounts, sdispls, sendtypes},
                    PassedMixed{recvbuf, recvcounts, rdispls, recvtypes});
}

int Ialltoallw(const void *sendbuf, CountArray sendcounts, CountArray sdispls, const MPI_Datatype *sendtypes,
               void *recvbuf, CountArray recvcounts, CountArray rdispls, const MPI_Datatype *recvtypes,
               Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_alltoall_mixed, "MPI_Ialltoallw", communicator, request,
                       PassedMixed{sendbuf, sendcounts, sdispls, sendtypes},
                       PassedMixed{recvbuf, recvcounts, rdispls, recvtypes});
}

int Alltoallw_init(const void *sendbuf, CountArray sendcounts, CountArray sdispls, const MPI_Datatype *sendtypes,
                   void *recvbuf, CountArray recvcounts, CountArray rdispls, const MPI_Datatype *recvtypes,
                   Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_alltoall_mixed, "MPI_Alltoallw_init", communicator, request,
                      PassedMixed{sendbuf, sendcounts, sdispls, sendtypes},
                      PassedMixed{recvbuf, recvcounts, rdispls, recvtypes});
}

} // namespace volley::mpi
