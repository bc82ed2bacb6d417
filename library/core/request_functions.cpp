// SPDX-License-Identifier: BSD-3-Clause
/// Waiting, testing, starting and cancelling (MPI 5.0 §3.7, §3.9).
#include "core/communicator.h"
#include "core/engine.h"
#include "core/error.h"
#include "core/failures.h"
#include "core/functions.h"
#include "core/request.h"

namespace volley {
namespace {

/// The empty status of a null or inactive request (MPI 5.0 §3.7.3), in which MPI_ERROR is set as well.
void set_empty_status(MPI_Status *status) {
    set_status(status, {});
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
}

/// nullptr for MPI_REQUEST_NULL; `error` is set if the handle is neither that nor a request.
Request *decode(MPI_Request handle, int &error) {
    if (handle == MPI_REQUEST_NULL) return nullptr;
    Request *request = Request::from_handle(handle);
    if (!request) [[unlikely]]
        error = fail(MPI_ERR_REQUEST, "%p is no request: it is not initialised, or was freed or waited for already",
                     static_cast<void *>(handle));
    return request;
}

/// Nothing is to be waited for.
bool is_idle(const Request *request) {
    return !request || !request->is_active();
}

/// The requests of an array call, checked once.
class RequestArray {
  public:
    RequestArray(int count, const MPI_Request *handles) : handles_(handles), count_(count) {
        for (int i = 0; i < count && !error_; i++) decode(handles[i], error_);
    }
    int error() const {
        return error_;
    }
    Request *operator[](int index) const {
        return handles_[index] == MPI_REQUEST_NULL ? nullptr : Request::from_handle(handles_[index]);
    }
    bool all_complete() const {
        for (int i = 0; i < count_; i++)
            if (Request *request = (*this)[i]; !is_idle(request) && !request->is_complete()) return false;
        return true;
    }
    int first_complete() const {
        for (int i = 0; i < count_; i++)
            if (Request *request = (*this)[i]; !is_idle(request) && request->is_complete()) return i;
        return MPI_UNDEFINED;
    }
    /// A request that is not complete, but whose wait is to end.
    int first_interrupted() const {
        for (int i = 0; failures.any() && i < count_; i++)
            if (Request *request = (*this)[i];
                !is_idle(request) && !request->is_complete() && request->is_interrupted())
                return i;
        return MPI_UNDEFINED;
    }
    /// What a call returns if none is complete: the error of one that is interrupted, or MPI_SUCCESS.
    int interruption_of_any() const {
        const int interrupted = first_interrupted();
        return interrupted != MPI_UNDEFINED ? interruption(*(*this)[interrupted]) : MPI_SUCCESS;
    }
    bool all_idle() const {
        for (int i = 0; i < count_; i++)
            if (!is_idle((*this)[i])) return false;
        return true;
    }
    /// What a wait for one of them publishes.
    WaitingForOne about_one() const {
        WaitingForOne about;
        for (int i = 0; i < count_; i++) {
            Request *request = (*this)[i];
            if (is_idle(request)) continue;
            if (about.requests < most_alternatives) about.first[about.requests] = request->about();
            ++about.requests;
        }
        return about;
    }

  private:
    const MPI_Request *handles_;
    int count_;
    int error_ = MPI_SUCCESS;
};

MPI_Status *element(MPI_Status *statuses, int index) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + index;
}

/// Ends some of the operations of a call that returns several statuses: if one failed, all have MPI_ERROR set
/// (MPI 5.0 §3.7.5).
class Conclusion {
  public:
    explicit Conclusion(MPI_Status *statuses) : statuses_(statuses) {}

    void add(Request &request, MPI_Request *handle, int position) {
        MPI_Status *status = element(statuses_, position);
        int error = retire(request, handle, status);
        if (status) status->MPI_ERROR = error;
        if (!first_error_) first_error_ = error;
    }
    /// An operation that goes on: its wait was interrupted, or that for another one.
    void add_pending(Request &request, int position) {
        const int error = request.is_interrupted() ? interruption(request) : MPI_ERR_PENDING;
        if (MPI_Status *status = element(statuses_, position)) status->MPI_ERROR = error;
        if (error != MPI_ERR_PENDING && !first_error_) first_error_ = error;
    }
    void add_empty(int position) {
        set_empty_status(element(statuses_, position));
    }
    int code() const {
        return first_error_ ? fail(MPI_ERR_IN_STATUS, "%s", sentence_of(first_error_)) : MPI_SUCCESS;
    }

  private:
    MPI_Status *statuses_;
    int first_error_ = MPI_SUCCESS;
};

int retire_all(const RequestArray &requests, int count, MPI_Request *handles, MPI_Status *statuses) {
    Conclusion conclusion(statuses);
    for (int i = 0; i < count; i++) {
        Request *request = requests[i];
        if (is_idle(request))
            conclusion.add_empty(i);
        else if (!request->is_complete()) [[unlikely]]
            conclusion.add_pending(*request, i);
        else
            conclusion.add(*request, &handles[i], i);
    }
    return conclusion.code();
}

int retire_some(const RequestArray &requests, int count, MPI_Request *handles, int *outcount, int *indices,
                MPI_Status *statuses) {
    Conclusion conclusion(statuses);
    *outcount = 0;
    for (int i = 0; i < count; i++) {
        Request *request = requests[i];
        if (is_idle(request) || !request->is_complete()) continue;
        indices[*outcount] = i;
        conclusion.add(*request, &handles[i], (*outcount)++);
    }
    return conclusion.code();
}

/// Looks for a request that is complete. If none is to be waited for, `flag` is set and the status empty.
Request *test_any(const RequestArray &requests, int *index, int *flag, MPI_Status *status) {
    *flag = engine.poll([&] { return (*index = requests.first_complete()) != MPI_UNDEFINED; });
    if (*flag) return requests[*index];
    if (requests.all_idle()) {
        *flag = 1;
        set_empty_status(status);
    }
    return nullptr;
}

int start(MPI_Request handle) {
    int error = MPI_SUCCESS;
    Request *request = decode(handle, error);
    if (error) return error;
    if (!request) return fail(MPI_ERR_REQUEST, "the request to start is MPI_REQUEST_NULL");
    if (request->communicator) blame(*request->communicator);
    if (request->is_persistent() && request->is_active())
        return fail(MPI_ERR_REQUEST, "the request of %s is active already: wait for it before it is started again",
                    request->name());
    return request->start();
}

/// The status of a request that may be complete, without ending it.
void peek(Request &request, MPI_Status *status) {
    request.finish();
    set_status(status, request.completion);
}

} // namespace

namespace mpi {

int Wait(MPI_Request *request, MPI_Status *status) {
    int error = MPI_SUCCESS;
    Request *waited = decode(*request, error);
    if (error) return error;
    if (is_idle(waited)) {
        set_empty_status(status);
        return MPI_SUCCESS;
    }
    if (!wait_for(*waited)) [[unlikely]]
        return interruption(*waited);
    return retire(*waited, request, status);
}

int Test(MPI_Request *request, int *flag, MPI_Status *status) {
    int error = MPI_SUCCESS;
    Request *tested = decode(*request, error);
    if (error) return error;
    if (is_idle(tested)) {
        *flag = 1;
        set_empty_status(status);
        return MPI_SUCCESS;
    }
    if (!tested->is_complete()) {
        engine.look();
        tested->attend();
    }
    *flag = tested->is_complete();
    if (*flag) return retire(*tested, request, status);
    return failures.any() && tested->is_interrupted() ? interruption(*tested) : MPI_SUCCESS;
}

int Waitall(int count, MPI_Request *array_of_requests, MPI_Status *array_of_statuses) {
    RequestArray requests(count, array_of_requests);
    if (requests.error()) return requests.error();
    // Waiting for one after another is enough: all progress meanwhile.
    for (int i = 0; i < count; i++)
        if (Request *request = requests[i]; !is_idle(request)) wait_for(*request);
    return retire_all(requests, count, array_of_requests, array_of_statuses);
}

int Testall(int count, MPI_Request *array_of_requests, int *flag, MPI_Status *array_of_statuses) {
    RequestArray requests(count, array_of_requests);
    if (requests.error()) return requests.error();
    *flag = engine.poll([&] { return requests.all_complete(); });
    return *flag ? retire_all(requests, count, array_of_requests, array_of_statuses) : requests.interruption_of_any();
}

int Waitany(int count, MPI_Request *array_of_requests, int *indx, MPI_Status *status) {
    RequestArray requests(count, array_of_requests);
    if (requests.error()) return requests.error();
    *indx = MPI_UNDEFINED;
    if (requests.all_idle()) {
        set_empty_status(status);
        return MPI_SUCCESS;
    }
    engine.wait_until_one(
        [&] {
            return (*indx = requests.first_complete()) != MPI_UNDEFINED ||
                   requests.first_interrupted() != MPI_UNDEFINED;
        },
        [&] { return requests.about_one(); });
    if (*indx == MPI_UNDEFINED) [[unlikely]]
        return requests.interruption_of_any();
    return retire(*requests[*indx], &array_of_requests[*indx], status);
}

int Testany(int count, MPI_Request *array_of_requests, int *indx, int *flag, MPI_Status *status) {
    RequestArray requests(count, array_of_requests);
    if (requests.error()) return requests.error();
    Request *found = test_any(requests, indx, flag, status);
    if (found) return retire(*found, &array_of_requests[*indx], status);
    return *flag ? MPI_SUCCESS : requests.interruption_of_any();
}

int Waitsome(int incount, MPI_Request *array_of_requests, int *outcount, int *array_of_indices,
             MPI_Status *array_of_statuses) {
    RequestArray requests(incount, array_of_requests);
    if (requests.error()) return requests.error();
    if (requests.all_idle()) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    engine.wait_until_one(
        [&] { return requests.first_complete() != MPI_UNDEFINED || requests.first_interrupted() != MPI_UNDEFINED; },
        [&] { return requests.about_one(); });
    if (requests.first_complete() == MPI_UNDEFINED) [[unlikely]] {
        *outcount = 0;
        return requests.interruption_of_any();
    }
    return retire_some(requests, incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

int Testsome(int incount, MPI_Request *array_of_requests, int *outcount, int *array_of_indices,
             MPI_Status *array_of_statuses) {
    RequestArray requests(incount, array_of_requests);
    if (requests.error()) return requests.error();
    if (requests.all_idle()) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    if (requests.first_complete() == MPI_UNDEFINED) engine.look();
    if (requests.first_complete() == MPI_UNDEFINED && failures.any()) *outcount = 0;
    if (requests.first_complete() == MPI_UNDEFINED && requests.first_interrupted() != MPI_UNDEFINED)
        return requests.interruption_of_any();
    return retire_some(requests, incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

int Start(MPI_Request *request) {
    return start(*request);
}

int Startall(int count, MPI_Request *array_of_requests) {
    for (int i = 0; i < count; i++)
        if (int error = start(array_of_requests[i])) return error;
    return MPI_SUCCESS;
}

int Request_free(MPI_Request *request) {
    int error = MPI_SUCCESS;
    Request *freed = decode(*request, error);
    if (error) return error;
    if (!freed) return fail(MPI_ERR_REQUEST, "the request to free is MPI_REQUEST_NULL");
    *request = MPI_REQUEST_NULL;
    freed->abandon();
    return MPI_SUCCESS;
}

int Cancel(MPI_Request *request) {
    int error = MPI_SUCCESS;
    Request *cancelled = decode(*request, error);
    if (error) return error;
    if (is_idle(cancelled)) return fail(MPI_ERR_REQUEST, "there is no active request to cancel");
    if (cancelled->communicator) blame(*cancelled->communicator);
    return cancelled->cancel();
}

int Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    int error = MPI_SUCCESS;
    Request *asked = decode(request, error);
    if (error) return error;
    *flag = 1;
    if (is_idle(asked)) {
        set_empty_status(status);
        return MPI_SUCCESS;
    }
    *flag = engine.poll([&] { return asked->is_complete(); });
    if (*flag) peek(*asked, status);
    return MPI_SUCCESS;
}

int Request_get_status_all(int count, const MPI_Request *array_of_requests, int *flag, MPI_Status *array_of_statuses) {
    RequestArray requests(count, array_of_requests);
    if (requests.error()) return requests.error();
    *flag = engine.poll([&] { return requests.all_complete(); });
    for (int i = 0; *flag && i < count; i++) {
        if (Request *request = requests[i]; is_idle(request))
            set_empty_status(element(array_of_statuses, i));
        else
            peek(*request, element(array_of_statuses, i));
    }
    return MPI_SUCCESS;
}

int Request_get_status_any(int count, const MPI_Request *array_of_requests, int *indx, int *flag, MPI_Status *status) {
    RequestArray requests(count, array_of_requests);
    if (requests.error()) return requests.error();
    if (Request *found = test_any(requests, indx, flag, status)) peek(*found, status);
    return MPI_SUCCESS;
}

int Request_get_status_some(int incount, const MPI_Request *array_of_requests, int *outcount, int *array_of_indices,
                            MPI_Status *array_of_statuses) {
    RequestArray requests(incount, array_of_requests);
    if (requests.error()) return requests.error();
    if (requests.all_idle()) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    if (requests.first_complete() == MPI_UNDEFINED) engine.progress();
    *outcount = 0;
    for (int i = 0; i < incount; i++) {
        Request *request = requests[i];
        if (is_idle(request) || !request->is_complete()) continue;
        array_of_indices[*outcount] = i;
        peek(*request, element(array_of_statuses, (*outcount)++));
    }
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
