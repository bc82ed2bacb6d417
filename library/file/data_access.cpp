// SPDX-License-Identifier: BSD-3-Clause
#include "file/data_access.h"

#include "core/error.h"
#include "core/request.h"
#include "file/collective_access.h"

#include <cstring>
#include <utility>

namespace volley {
namespace {

/// An access that was done at once.
class CompleteAccess final : public Request {
  public:
    CompleteAccess(const char *name, File &file, const Completion &outcome) : name_(name) {
        communicator = &file.communicator;
        communicator->retain();
        completion = outcome;
        complete_ = true;
    }
    const char *name() const override {
        return name_;
    }

  private:
    ~CompleteAccess() override {
        Communicator::release(*communicator);
    }

    const char *name_;
};

int check_sequential(const File &file, const Place &place) {
    if (!file.has(MPI_MODE_SEQUENTIAL) || place.kind == Place::Kind::shared) return MPI_SUCCESS;
    return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                "the file '%s' was opened with MPI_MODE_SEQUENTIAL, which allows the shared file pointer only",
                file.name.c_str());
}

/// Prepares the access and gives it its position, unless it is to be in the order of ranks: that is found out together.
int prepare(Access &access, const Place &place, bool together) {
    File &file = access.file();
    if (int code = check_sequential(file, place); code != MPI_SUCCESS) return code;
    if (int code = access.prepare(); code != MPI_SUCCESS) return code;
    if (place.kind == Place::Kind::offset) {
        Count position = 0;
        if (int code = file.view->find_etype(place.offset, 0, position); code != MPI_SUCCESS) return code;
        return access.place(position);
    }
    if (place.kind == Place::Kind::individual) {
        int code = access.place(file.position);
        if (code == MPI_SUCCESS) file.position = access.to();
        return code;
    }
    if (together) return MPI_SUCCESS;
    Count position = 0;
    if (int code = file.shared.advance(access.bytes(), position); code != MPI_SUCCESS) return code;
    return access.place(position);
}

/// The access, done here and now.
int perform(const Passage &passage, const Place &place, Completion &completion, int &outcome) {
    Access access(passage);
    if (int code = prepare(access, place, false); code != MPI_SUCCESS) return code;
    outcome = access.run();
    int finished = access.finish(completion.bytes);
    if (outcome == MPI_SUCCESS) outcome = finished;
    return MPI_SUCCESS;
}

int plan(Schedule &schedule, const Passage &passage, const Place &place) {
    if (int code = check_no_split(passage.file); code != MPI_SUCCESS) return code;
    auto access = std::make_shared<Access>(passage);
    if (int code = prepare(*access, place, true); code != MPI_SUCCESS) return code;
    schedule.is_about(MPI_ANY_SOURCE, passage.count, passage.datatype.handle());
    return place.kind == Place::Kind::shared ? plan_ordered_access(schedule, std::move(access))
                                             : plan_collective_access(schedule, std::move(access));
}

/// The schedule is under way when this returns MPI_SUCCESS.
int start(const Passage &passage, const Place &place, const char *name, Schedule *&started) {
    started = Schedule::make(name, passage.file.communicator, Form::nonblocking);
    if (int code = plan(*started, passage, place); code != MPI_SUCCESS) {
        std::exchange(started, nullptr)->dispose();
        return code;
    }
    return started->start();
}

} // namespace

int check_no_split(const File &file) {
    if (file.split.request == nullptr) return MPI_SUCCESS;
    return fail(MPI_ERR_OTHER, "%s has begun an access to the file '%s', which must be ended first", file.split.begun,
                file.name.c_str());
}

int access(const Passage &passage, const Place &place, MPI_Status *status) {
    Completion completion;
    int outcome = MPI_SUCCESS;
    if (int code = perform(passage, place, completion, outcome); code != MPI_SUCCESS) return code;
    set_status(status, completion);
    return outcome;
}

int start_access(const Passage &passage, const Place &place, MPI_Request *request, const char *name) {
    Completion completion;
    if (int code = perform(passage, place, completion, completion.error); code != MPI_SUCCESS) return code;
    *request = (new CompleteAccess(name, passage.file, completion))->handle();
    return MPI_SUCCESS;
}

int access_all(const Passage &passage, const Place &place, MPI_Status *status, const char *name) {
    Schedule schedule(name, passage.file.communicator, Form::blocking);
    if (int code = plan(schedule, passage, place); code != MPI_SUCCESS) return code;
    int code = schedule.run();
    set_status(status, schedule.completion);
    return code;
}

int start_access_all(const Passage &passage, const Place &place, MPI_Request *request, const char *name) {
    Schedule *started = nullptr;
    if (int code = start(passage, place, name, started); code != MPI_SUCCESS) return code;
    *request = started->handle();
    return MPI_SUCCESS;
}

int begin_access_all(const Passage &passage, const Place &place, const char *name) {
    Schedule *started = nullptr;
    if (int code = start(passage, place, name, started); code != MPI_SUCCESS) return code;
    passage.file.split = {started, name, passage.buffer};
    return MPI_SUCCESS;
}

int end_access_all(File &file, const void *buffer, MPI_Status *status, const char *begun) {
    if (file.split.request == nullptr)
        return fail(MPI_ERR_OTHER, "no access to the file '%s' was begun by %s", file.name.c_str(), begun);
    if (std::strcmp(file.split.begun, begun) != 0)
        return fail(MPI_ERR_OTHER, "the access to the file '%s' was begun by %s, not by %s", file.name.c_str(),
                    file.split.begun, begun);
    if (file.split.buffer != buffer)
        return fail(MPI_ERR_BUFFER, "buf is %p, but %s was called with %p", buffer, begun, file.split.buffer);
    Request &request = *file.split.request;
    wait_for(request);
    file.split = {};
    int code = request.finish();
    set_status(status, request.completion);
    request.dispose();
    return code;
}

} // namespace volley
