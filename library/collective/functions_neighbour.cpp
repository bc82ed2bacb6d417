// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Neighbor_... in their three forms.
#include "collective/plans.h"
#include "collective/run.h"

#include <core/functions.h>

namespace volley::mpi {

int Neighbor_allgather(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
                       MPI_Datatype recvtype, Communicator &communicator) {
    return blocking(plan_neighbour_allgather, "MPI_Neighbor_allgather", communicator,
                    Passed{sendbuf, sendcount, sendtype}, Passed{recvbuf, recvcount, recvtype});
}

int Ineighbor_allgather(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
                        MPI_Datatype recvtype, Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_neighbour_allgather, "MPI_Ineighbor_allgather", communicator, request,
                       Passed{sendbuf, sendcount, sendtype}, Passed{recvbuf, recvcount, recvtype});
}

int Neighbor_allgather_init(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
                            MPI_Datatype recvtype, Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_neighbour_allgather, "MPI_Neighbor_allgather_init", communicator, request,
                      Passed{sendbuf, sendcount, sendtype}, Passed{recvbuf, recvcount, recvtype});
}

int Neighbor_allgatherv(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                        CountArray recvcounts, CountArray displs, MPI_Datatype recvtype, Communicator &communicator) {
    return blocking(plan_neighbour_allgather_each, "MPI_Neighbor_allgatherv", communicator,
                    Passed{sendbuf, sendcount, sendtype}, PassedEach{recvbuf, recvcounts, displs, recvtype});
}

int Ineighbor_allgatherv(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                         CountArray recvcounts, CountArray displs, MPI_Datatype recvtype, Communicator &communicator,
                         MPI_Request *request) {
    return nonblocking(plan_neighbour_allgather_each, "MPI_Ineighbor_allgatherv", communicator, request,
                       Passed{sendbuf, sendcount, sendtype}, PassedEach{recvbuf, recvcounts, displs, recvtype});
}

int Neighbor_allgatherv_init(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                             CountArray recvcounts, CountArray displs, MPI_Datatype recvtype,
                             Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_neighbour_allgather_each, "MPI_Neighbor_allgatherv_init", communicator, request,
                      Passed{sendbuf, sendcount, sendtype}, PassedEach{recvbuf, recvcounts, displs, recvtype});
}

int Neighbor_alltoall(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
                      MPI_Datatype recvtype, Communicator &communicator) {
    return blocking(plan_neighbour_alltoall, "MPI_Neighbor_alltoall", communicator,
                    Passed{sendbuf, sendcount, sendtype}, Passed{recvbuf, recvcount, recvtype});
}

int Ineighbor_alltoall(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
                       MPI_Datatype recvtype, Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_neighbour_alltoall, "MPI_Ineighbor_alltoall", communicator, request,
                       Passed{sendbuf, sendcount, sendtype}, Passed{recvbuf, recvcount, recvtype});
}

int Neighbor_alltoall_init(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount,
                           MPI_Datatype recvtype, Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_neighbour_alltoall, "MPI_Neighbor_alltoall_init", communicator, request,
                      Passed{sendbuf, sendcount, sendtype}, Passed{recvbuf, recvcount, recvtype});
}

int Neighbor_alltoallv(const void *sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype,
                       void *recvbuf, CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype,
                       Communicator &communicator) {
    return blocking(plan_neighbour_alltoall_each, "MPI_Neighbor_alltoallv", communicator,
                    PassedEach{sendbuf, sendcounts, sdispls, sendtype},
                    PassedEach{recvbuf, recvcounts, rdispls, recvtype});
}

int Ineighbor_alltoallv(const void *sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype,
                        void *recvbuf, CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype,
                        Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_neighbour_alltoall_each, "MPI_Ineighbor_alltoallv", communicator, request,
                       PassedEach{sendbuf, sendcounts, sdispls, sendtype},
                       PassedEach{recvbuf, recvcounts, rdispls, recvtype});
}

int Neighbor_alltoallv_init(const void *sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype,
                            void *recvbuf, CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype,
                            Communicator &communicator, Info *, MPI_Request *request) {
    return persistent(plan_neighbour_alltoall_each, "MPI_Neighbor_alltoallv_init", communicator, request,
                      PassedEach{sendbuf, sendcounts, sdispls, sendtype},
                      PassedEach{recvbuf, recvcounts, rdispls, recvtype});
}

int Neighbor_alltoallw(const void *sendbuf, CountArray sendcounts, const MPI_Aint *sdispls,
                       const MPI_Datatype *sendtypes, void *recvbuf, CountArray recvcounts, const MPI_Aint *rdispls,
                       const MPI_Datatype *recvtypes, Communicator &communicator) {
    return blocking(plan_neighbour_alltoall_mixed, "MPI_Neighbor_alltoallw", communicator,
                    PassedMixed{sendbuf, sendcounts, sdispls, sendtypes},
                    PassedMixed{recvbuf, recvcounts, rdispls, recvtypes});
}

int Ineighbor_alltoallw(const void *sendbuf, CountArray sendcounts, const MPI_Aint *sdispls,
                        const MPI_Datatype *sendtypes, void *recvbuf, CountArray recvcounts, const MPI_Aint *rdispls,
                        const MPI_Datatype *recvtypes, Communicator &communicator, MPI_Request *request) {
    return nonblocking(plan_neighbour_alltoall_mixed, "MPI_Ineighbor_alltoallw", communicator, request,
                       PassedMixed{sendbuf, sendcounts, sdispls, sendtypes},
                       PassedMixed{recvbuf, recvcounts, rdispls, recvtypes});
}

int Neighbor_alltoallw_init(const void *sendbuf, CountArray sendcounts, const MPI_Aint *sdispls,
                            const MPI_Datatype *sendtypes, void *recvbuf, CountArray recvcounts,
                            const MPI_Aint *rdispls, const MPI_Datatype *recvtypes, Communicator &communicator, Info *,
                            MPI_Request *request) {
    return persistent(plan_neighbour_alltoall_mixed, "MPI_Neighbor_alltoallw_init", communicator, request,
                      PassedMixed{sendbuf, sendcounts, sdispls, sendtypes},
                      PassedMixed{recvbuf, recvcounts, rdispls, recvtypes});
}

} // namespace volley::mpi
