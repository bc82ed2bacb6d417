// SPDX-License-Identifier: BSD-3-Clause
/// What a status says, and what programs put into one (MPI 5.0, sections 3.2.5 and 13.3).
#include "core/datatype/elements.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/request.h"

namespace volley {

int mpi::Get_count(const MPI_Status *status, Datatype &datatype, Count &count) {
    count = count_in_bytes(status_bytes(*status), datatype);
    return MPI_SUCCESS;
}

int mpi::Get_elements(const MPI_Status *status, Datatype &datatype, Count &count) {
    count = elements_in_bytes(status_bytes(*status), datatype);
    return MPI_SUCCESS;
}

int mpi::Test_cancelled(const MPI_Status *status, int *flag) {
    *flag = status_cancelled(*status);
    return MPI_SUCCESS;
}

int mpi::Status_set_elements(MPI_Status *status, Datatype &datatype, Count count) {
    Count bytes = 0;
    if (int code = report(bytes_of_elements(count, datatype, bytes))) return code;
    set_status_bytes(*status, bytes);
    return MPI_SUCCESS;
}

int mpi::Status_set_cancelled(MPI_Status *status, int flag) {
    set_status_cancelled(*status, flag != 0);
    return MPI_SUCCESS;
}

int mpi::Status_set_source(MPI_Status *status, int source) {
    status->MPI_SOURCE = source;
    return MPI_SUCCESS;
}

int mpi::Status_set_tag(MPI_Status *status, int tag) {
    status->MPI_TAG = tag;
    return MPI_SUCCESS;
}

int mpi::Status_set_error(MPI_Status *status, int error) {
    status->MPI_ERROR = error;
    return MPI_SUCCESS;
}

int mpi::Status_get_source(const MPI_Status *status, int *source) {
    *source = status->MPI_SOURCE;
    return MPI_SUCCESS;
}

int mpi::Status_get_tag(const MPI_Status *status, int *tag) {
    *tag = status->MPI_TAG;
    return MPI_SUCCESS;
}

int mpi::Status_get_error(const MPI_Status *status, int *error) {
    *error = status->MPI_ERROR;
    return MPI_SUCCESS;
}

} // namespace volley
