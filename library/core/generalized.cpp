// SPDX-License-Identifier: BSD-3-Clause
/// Generalized requests (MPI 5.0 §13.2): operations of the program itself, completed by it.
#include "core/engine.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/request.h"

#include <utility>

namespace volley {
namespace {

class GeneralizedRequest final : public Request {
  public:
    GeneralizedRequest(MPI_Grequest_query_function *query, MPI_Grequest_free_function *release,
                       MPI_Grequest_cancel_function *cancel_function, void *extra_state)
        : query_(query), free_(release), cancel_(cancel_function), extra_state_(extra_state) {}

    int cancel() override {
        return cancel_ ? cancel_(extra_state_, is_complete()) : MPI_SUCCESS;
    }
    int finish() override {
        MPI_Status status{};
        set_status(&status, completion);
        int error = query_ ? query_(extra_state_, &status) : MPI_SUCCESS;
        completion = {.source = status.MPI_SOURCE,
                      .tag = status.MPI_TAG,
                      .error = error,
                      .cancelled = status_cancelled(status),
                      .bytes = status_bytes(status)};
        return error;
    }
    int retire() override {
        MPI_Grequest_free_function *release = std::exchange(free_, nullptr);
        return release ? release(extra_state_) : MPI_SUCCESS;
    }
    const char *name() const override {
        return "MPI_Grequest_start";
    }

  private:
    ~GeneralizedRequest() override {
        retire(); // of a request that was freed before it was complete
    }

    MPI_Grequest_query_function *query_;
    MPI_Grequest_free_function *free_;
    MPI_Grequest_cancel_function *cancel_;
    void *extra_state_;
};

} // namespace

namespace mpi {

int Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                   MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *request) {
    *request = (new GeneralizedRequest(query_fn, free_fn, cancel_fn, extra_state))->handle();
    return MPI_SUCCESS;
}

int Grequest_complete(MPI_Request request) {
    auto *generalized = dynamic_cast<GeneralizedRequest *>(Request::from_handle(request));
    if (!generalized)
        return fail(MPI_ERR_REQUEST, "%p is no request of MPI_Grequest_start", static_cast<void *>(request));
    generalized->complete();
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
