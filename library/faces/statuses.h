// SPDX-License-Identifier: BSD-3-Clause
/// Statuses on their way between a program and the library. Included after a face's handles.h, which defines Status and
/// the functions that read and write what only the interface's own functions may look at.
#pragma once

#include "core/status.h"

namespace volley::faces {

inline void write_status(Status &to, const MPI_Status &from) {
    to.MPI_SOURCE = wildcard_rank_to_face(from.MPI_SOURCE);
    to.MPI_TAG = wildcard_tag_to_face(from.MPI_TAG);
    write_count(to, status_bytes(from), status_cancelled(from));
}

inline void read_status(MPI_Status &to, const Status &from) {
    to.MPI_SOURCE = wildcard_rank_to_native(from.MPI_SOURCE);
    to.MPI_TAG = wildcard_tag_to_native(from.MPI_TAG);
    to.MPI_ERROR = code_to_native(from.MPI_ERROR);
    set_status_bytes(to, count_of(from));
    set_status_cancelled(to, cancelled_of(from));
}

/// A status that is only written. Functions that leave MPI_ERROR alone leave the program's as it was.
class StatusOut {
  public:
    explicit StatusOut(Status *to) : to_(is_ignored(to) ? nullptr : to) {
        status_.MPI_SOURCE = nothing;
        status_.MPI_ERROR = nothing;
    }
    StatusOut(const StatusOut &) = delete;
    StatusOut &operator=(const StatusOut &) = delete;
    ~StatusOut() {
        if (to_ != nullptr) write(*to_, status_);
    }
    operator MPI_Status *() {
        return to_ != nullptr ? &status_ : MPI_STATUS_IGNORE;
    }

    static void write(Status &to, const MPI_Status &from) {
        if (from.MPI_SOURCE != nothing) write_status(to, from);
        if (from.MPI_ERROR != nothing) to.MPI_ERROR = code_to_face(from.MPI_ERROR);
    }

  private:
    Status *to_;
    MPI_Status status_;
};

class StatusesOut {
  public:
    StatusesOut(Status *to, MPI_Count length) : to_(is_ignored(to) ? nullptr : to), statuses_(to_ ? length : 0) {
        for (std::size_t i = 0; i < statuses_.size(); ++i) statuses_[i].MPI_SOURCE = statuses_[i].MPI_ERROR = nothing;
    }
    StatusesOut(const StatusesOut &) = delete;
    StatusesOut &operator=(const StatusesOut &) = delete;
    ~StatusesOut() {
        for (std::size_t i = 0; i < statuses_.size(); ++i) StatusOut::write(to_[i], statuses_[i]);
    }
    operator MPI_Status *() {
        return to_ != nullptr ? statuses_.data() : MPI_STATUSES_IGNORE;
    }

  private:
    Status *to_;
    Array<MPI_Status> statuses_;
};

/// A status that is read.
class StatusIn {
  public:
    explicit StatusIn(const Status *from) : present_(from != nullptr && !is_ignored(from)) {
        if (present_) read_status(status_, *from);
    }
    operator const MPI_Status *() {
        return present_ ? &status_ : nullptr;
    }

  private:
    bool present_;
    MPI_Status status_;
};

/// A status that is changed.
class StatusInOut {
  public:
    explicit StatusInOut(Status *of) : of_(is_ignored(of) ? nullptr : of) {
        if (of_ != nullptr) read_status(status_, *of_);
    }
    StatusInOut(const StatusInOut &) = delete;
    StatusInOut &operator=(const StatusInOut &) = delete;
    ~StatusInOut() {
        if (of_ == nullptr) return;
        write_status(*of_, status_);
        of_->MPI_ERROR = code_to_face(status_.MPI_ERROR);
    }
    operator MPI_Status *() {
        return of_ != nullptr ? &status_ : nullptr;
    }

  private:
    Status *of_;
    MPI_Status status_;
};

} // namespace volley::faces
