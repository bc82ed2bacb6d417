// SPDX-License-Identifier: BSD-3-Clause
/// Copies of sections that are not contiguous, for collective operations: reductions want values one after the other,
/// others place several pieces in one buffer. A blocking call copies before and after. A non-blocking or persistent
/// one keeps the copies with its request, and what completes that from Fortran copies the results back.
#pragma once

#include "fortran/section.h"

#include <atomic>
#include <utility>

namespace volley::fortran {

/// A section's data in one piece. It is copied back when this goes, if it is a result and nobody keeps it.
class SectionCopy {
  public:
    SectionCopy(const Descriptor *array, bool is_result)
        : array_(*array), address_(buffer_to_c(array->base)), is_result_(is_result) {
        if (!is_contiguous(*array)) [[unlikely]]
            make();
    }
    SectionCopy(SectionCopy &&other) noexcept
        : array_(other.array_), address_(other.address_), copy_(std::move(other.copy_)), is_result_(other.is_result_) {}
    SectionCopy &operator=(const SectionCopy &) = delete;
    ~SectionCopy() {
        if (copy_ != nullptr) write_back();
    }

    operator void *() const {
        return address_;
    }
    bool is_copy() const {
        return copy_ != nullptr;
    }
    void read() {
        gather(array_, copy_.get());
    }
    void write_back() const {
        if (is_result_) scatter(array_, copy_.get());
    }
    /// The memory stays for whoever still writes to it.
    void abandon() {
        static_cast<void>(copy_.release());
    }
    /// Nothing is copied back any more.
    void drop() {
        copy_.reset();
    }

  private:
    void make();

    Descriptor array_;
    void *address_;
    std::unique_ptr<char[]> copy_;
    bool is_result_;
};

/// How many requests have copies: without any, nobody looks.
extern std::atomic<int> requests_with_copies;

/// Keeps those of `copies` that are some until `request` completes.
void keep_copies(MPI_Request request, bool persistent, std::initializer_list<SectionCopy *> copies);
/// Before a persistent request starts.
void start_copies(MPI_Request request);
/// After a call that may have completed `before`, which is now `now`.
void finish_copies(MPI_Request before, MPI_Request now);
/// A request was freed, or another got its handle.
void forget_copies(MPI_Request request);

/// A request that a call makes.
class RequestOut : public HandleOut<MPI_Request> {
  public:
    using HandleOut::HandleOut;
    ~RequestOut() {
        if (requests_with_copies.load(std::memory_order_relaxed) != 0 && !kept_) [[unlikely]]
            forget_copies(made());
    }
    template <class... Copies> void keep(int code, bool persistent, Copies &...copies) {
        if (code != MPI_SUCCESS || (!copies.is_copy() && ...)) return;
        keep_copies(made(), persistent, {&copies...});
        kept_ = true;
    }

  private:
    bool kept_ = false;
};

/// What a call means for the copies of a request that it is given.
enum class Use { completes, starts, frees };

inline void before_use(Use use, MPI_Request request) {
    if (requests_with_copies.load(std::memory_order_relaxed) == 0) [[likely]]
        return;
    if (use == Use::starts) start_copies(request);
    if (use == Use::frees) forget_copies(request);
}
inline void after_use(Use use, MPI_Request before, MPI_Request now) {
    if (requests_with_copies.load(std::memory_order_relaxed) == 0) [[likely]]
        return;
    if (use == Use::completes) finish_copies(before, now);
}

template <Use use> class RequestInOut {
  public:
    explicit RequestInOut(int *of) : of_(of), before_(to_native<MPI_Request>(*of)), now_(before_) {
        before_use(use, before_);
    }
    RequestInOut(const RequestInOut &) = delete;
    RequestInOut &operator=(const RequestInOut &) = delete;
    ~RequestInOut() {
        if (now_ != before_) *of_ = to_fortran(now_);
        after_use(use, before_, now_);
    }
    operator MPI_Request *() {
        return &now_;
    }

  private:
    int *of_;
    MPI_Request before_;
    MPI_Request now_;
};

/// Requests that a call reads or completes; `of` is not written to if it only reads.
template <Use use> class RequestsInOut {
  public:
    RequestsInOut(int *of, int count) : of_(of), now_(count), before_(count) {
        for (std::size_t i = 0; i < now_.size(); ++i) {
            before_[i] = now_[i] = to_native<MPI_Request>(of[i]);
            before_use(use, before_[i]);
        }
    }
    RequestsInOut(const int *of, int count) : RequestsInOut(const_cast<int *>(of), count) {}
    RequestsInOut(const RequestsInOut &) = delete;
    RequestsInOut &operator=(const RequestsInOut &) = delete;
    ~RequestsInOut() {
        for (std::size_t i = 0; i < now_.size(); ++i) {
            if (now_[i] != before_[i]) of_[i] = to_fortran(now_[i]);
            after_use(use, before_[i], now_[i]);
        }
    }
    operator MPI_Request *() {
        return now_.data();
    }

  private:
    int *of_;
    Array<MPI_Request> now_;
    Array<MPI_Request> before_;
};

/// A request of which a call says whether it is complete.
class AskedRequest {
  public:
    explicit AskedRequest(const int *request) : request_(to_native<MPI_Request>(*request)) {}
    AskedRequest(const AskedRequest &) = delete;
    AskedRequest &operator=(const AskedRequest &) = delete;
    ~AskedRequest() {
        after_use(Use::completes, request_, request_);
    }
    operator MPI_Request() const {
        return request_;
    }

  private:
    MPI_Request request_;
};

} // namespace volley::fortran
