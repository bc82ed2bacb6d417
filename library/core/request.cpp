// SPDX-License-Identifier: BSD-3-Clause
#include "core/request.h"

#include "core/communicator.h"
#include "core/engine.h"
#include "core/error.h"
#include "core/failures.h"

namespace volley {
namespace {

Pool<RequestHandle> &handles() {
    static auto *pool = new Pool<RequestHandle>; // outlives static destructors
    return *pool;
}

} // namespace

void set_status(MPI_Status *status, const Completion &completion) {
    if (status == MPI_STATUS_IGNORE) return;
    status->MPI_SOURCE = completion.source;
    status->MPI_TAG = completion.tag;
    set_status_bytes(*status, completion.bytes);
    set_status_cancelled(*status, completion.cancelled);
}

int Request::start() {
    return fail(MPI_ERR_REQUEST, "%s made this request, which is not a persistent one: it cannot be started", name());
}

int Request::cancel() {
    return fail(MPI_ERR_REQUEST, "a request of %s cannot be cancelled", name());
}

void Request::abandon() {
    if (complete_ || !active_)
        dispose();
    else
        abandoned_ = true;
}

MPI_Request Request::handle() {
    if (!handle_) handle_ = handles().make(this);
    return reinterpret_cast<MPI_Request>(handle_);
}

Request *Request::from_handle(MPI_Request handle) {
    auto *named = object_of<RequestHandle>(handle);
    return named ? named->request : nullptr;
}

void Request::dispose() {
    if (handle_) handles().destroy(handle_);
    handle_ = nullptr;
    destroy();
}

bool wait_for(Request &request) {
    engine.wait_until(
        [&] {
            request.attend();
            return request.is_complete() || (failures.any() && request.is_interrupted());
        },
        request.about());
    return request.is_complete();
}

int interruption(Request &request) {
    if (request.communicator) blame(*request.communicator);
    return fail(MPIX_ERR_PROC_FAILED_PENDING,
                "a process has failed that might have sent what this receive from any source waits for; the receive "
                "goes on, and can be waited for again after MPIX_Comm_ack_failed");
}

int retire(Request &request, MPI_Request *handle, MPI_Status *status) {
    if (request.communicator) blame(*request.communicator);
    int error = request.finish();
    set_status(status, request.completion);
    if (request.is_persistent()) {
        request.deactivate();
    } else {
        int last = request.retire();
        if (error == MPI_SUCCESS) error = last;
        request.dispose();
        *handle = MPI_REQUEST_NULL;
    }
    return error;
}

} // namespace volley
