// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Psend_init, MPI_Pready and relatives (MPI 5.0 §4.2).
#include "core/partitioned.h"

#include "core/error.h"
#include "core/functions.h"

namespace volley {
namespace {

/// Makes either side's request.
template <class Kind>
int make(const void *buffer, int partitions, Count count, Datatype &datatype, int peer, int tag, Communicator &comm,
         MPI_Request *request) {
    Checked all = Checked(partitions) * Checked(count);
    if (all.overflow() || !datatype.can_count(all.value())) return too_many_elements("count", count, datatype);
    auto *made = new Kind({{buffer, count, &datatype}, partitions, peer, tag, comm});
    *request = made->handle();
    return MPI_SUCCESS;
}

/// The active request whose partitions a sender marks.
int find_send(MPI_Request handle, PartitionedSend *&send) {
    send = dynamic_cast<PartitionedSend *>(handle == MPI_REQUEST_NULL ? nullptr : Request::from_handle(handle));
    if (!send)
        return fail(MPI_ERR_REQUEST,
                    "%p is no request of MPI_Psend_init, whose partitions alone can be marked as ready",
                    static_cast<void *>(handle));
    blame(*send->communicator);
    if (!send->is_active())
        return fail(MPI_ERR_REQUEST,
                    "the request of MPI_Psend_init is not active: start it before a partition is ready");
    return MPI_SUCCESS;
}

} // namespace

namespace mpi {

int Psend_init(const void *buf, int partitions, MPI_Count count, Datatype &datatype, int dest, int tag,
               Communicator &comm, Info *, MPI_Request *request) {
    return make<PartitionedSend>(buf, partitions, count, datatype, dest, tag, comm, request);
}

int Precv_init(void *buf, int partitions, MPI_Count count, Datatype &datatype, int source, int tag, Communicator &comm,
               Info *, MPI_Request *request) {
    return make<PartitionedReceive>(buf, partitions, count, datatype, source, tag, comm, request);
}

int Pready(int partition, MPI_Request request) {
    PartitionedSend *send;
    if (int code = find_send(request, send)) return code;
    return send->ready(partition);
}

int Pready_range(int partition_low, int partition_high, MPI_Request request) {
    PartitionedSend *send;
    if (int code = find_send(request, send)) return code;
    for (int partition = partition_low; partition <= partition_high; partition++)
        if (int code = send->ready(partition)) return code;
    return MPI_SUCCESS;
}

int Pready_list(int length, const int *array_of_partitions, MPI_Request request) {
    PartitionedSend *send;
    if (int code = find_send(request, send)) return code;
    for (int i = 0; i < length; i++)
        if (int code = send->ready(array_of_partitions[i])) return code;
    return MPI_SUCCESS;
}

int Parrived(MPI_Request request, int partition, int *flag) {
    *flag = 1;
    if (request == MPI_REQUEST_NULL) return MPI_SUCCESS;
    auto *receive = dynamic_cast<PartitionedReceive *>(Request::from_handle(request));
    if (!receive)
        return fail(MPI_ERR_REQUEST, "%p is no request of MPI_Precv_init, whose partitions alone arrive",
                    static_cast<void *>(request));
    blame(*receive->communicator);
    if (int code = receive->check(partition)) return code;
    if (receive->is_active()) *flag = engine.poll([&] { return receive->has_arrived(partition); });
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
