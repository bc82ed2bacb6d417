// SPDX-License-Identifier: BSD-3-Clause
/// Arguments of a face's entry points on their way to the library's own entry points and back.
///
/// Included by a face's handles.h, which says how its handles and statuses look. Each class here takes one argument
/// as the program passed it, converts itself to what the library wants, and writes results back when it is destroyed,
/// which is after the call. What a call has left alone is not written.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace volley::faces {

/// What no argument is: for results that a call has not written, and for values that are none of the interface's.
inline constexpr int nothing = INT_MIN;

/// The type that programs have for a handle of the library; defined by each face.
template <class Native> struct FaceHandle;
template <class Native> using Face = typename FaceHandle<Native>::Type;

template <class Native> Native to_native(Face<Native> handle);
template <class Native> Face<Native> to_face(Native handle);

/// What no handle is.
template <class Native> inline constexpr Native no_handle{};

/// Memory for a converted array: short ones lie on the stack.
template <class Element> class Array {
  public:
    explicit Array(MPI_Count length) : length_(length > 0 ? static_cast<std::size_t>(length) : 0) {
        if (length_ > short_.size()) long_ = std::make_unique_for_overwrite<Element[]>(length_);
    }

    std::size_t size() const {
        return length_;
    }
    Element *data() {
        return long_ ? long_.get() : short_.data();
    }
    Element &operator[](std::size_t i) {
        return data()[i];
    }

  private:
    std::size_t length_;
    std::array<Element, 16> short_;
    std::unique_ptr<Element[]> long_;
};

/// A handle that a function makes.
template <class Native> class HandleOut {
  public:
    explicit HandleOut(Face<Native> *to) : to_(to) {}
    HandleOut(const HandleOut &) = delete;
    HandleOut &operator=(const HandleOut &) = delete;
    ~HandleOut() {
        if (made_ != no_handle<Native>) *to_ = to_face(made_);
    }
    operator Native *() {
        return to_ != nullptr ? &made_ : nullptr;
    }
    Native made() const {
        return made_;
    }

  private:
    Face<Native> *to_;
    Native made_ = no_handle<Native>;
};

/// A handle that a function uses, and may free.
template <class Native> class HandleInOut {
  public:
    explicit HandleInOut(Face<Native> *of) : of_(of) {
        if (of != nullptr) before_ = now_ = to_native<Native>(*of);
    }
    HandleInOut(const HandleInOut &) = delete;
    HandleInOut &operator=(const HandleInOut &) = delete;
    ~HandleInOut() {
        if (now_ != before_) *of_ = to_face(now_);
    }
    operator Native *() {
        return of_ != nullptr ? &now_ : nullptr;
    }

  private:
    Face<Native> *of_;
    Native before_ = no_handle<Native>;
    Native now_ = no_handle<Native>;
};

template <class Native> class HandlesIn {
  public:
    HandlesIn(const Face<Native> *from, MPI_Count length) : present_(from != nullptr), natives_(present_ ? length : 0) {
        for (std::size_t i = 0; i < natives_.size(); ++i) natives_[i] = to_native<Native>(from[i]);
    }
    operator const Native *() {
        return present_ ? natives_.data() : nullptr;
    }

  private:
    bool present_;
    Array<Native> natives_;
};

template <class Native> class HandlesInOut {
  public:
    HandlesInOut(Face<Native> *of, MPI_Count length) : of_(of), now_(of != nullptr ? length : 0), before_(now_.size()) {
        for (std::size_t i = 0; i < now_.size(); ++i) before_[i] = now_[i] = to_native<Native>(of[i]);
    }
    HandlesInOut(const HandlesInOut &) = delete;
    HandlesInOut &operator=(const HandlesInOut &) = delete;
    ~HandlesInOut() {
        for (std::size_t i = 0; i < now_.size(); ++i)
            if (now_[i] != before_[i]) of_[i] = to_face(now_[i]);
    }
    operator Native *() {
        return of_ != nullptr ? now_.data() : nullptr;
    }

  private:
    Face<Native> *of_;
    Array<Native> now_;
    Array<Native> before_;
};

template <class Native> class HandlesOut {
  public:
    HandlesOut(Face<Native> *to, MPI_Count length) : to_(to), made_(to != nullptr ? length : 0) {
        std::fill_n(made_.data(), made_.size(), no_handle<Native>);
    }
    HandlesOut(const HandlesOut &) = delete;
    HandlesOut &operator=(const HandlesOut &) = delete;
    ~HandlesOut() {
        for (std::size_t i = 0; i < made_.size(); ++i)
            if (made_[i] != no_handle<Native>) to_[i] = to_face(made_[i]);
    }
    operator Native *() {
        return to_ != nullptr ? made_.data() : nullptr;
    }

  private:
    Face<Native> *to_;
    Array<Native> made_;
};

/// An integer result whose values differ.
template <int (*Convert)(int)> class IntOut {
  public:
    explicit IntOut(int *to) : to_(to) {}
    IntOut(const IntOut &) = delete;
    IntOut &operator=(const IntOut &) = delete;
    ~IntOut() {
        if (result_ != nothing) *to_ = Convert(result_);
    }
    operator int *() {
        return to_ != nullptr ? &result_ : nullptr;
    }
    int result() const {
        return result_;
    }

  private:
    int *to_;
    int result_ = nothing;
};

/// An integer that a function reads and replaces.
template <int (*ToNative)(int), int (*ToFace)(int)> class IntInOut {
  public:
    explicit IntInOut(int *of) : of_(of) {
        if (of != nullptr) before_ = now_ = ToNative(*of);
    }
    IntInOut(const IntInOut &) = delete;
    IntInOut &operator=(const IntInOut &) = delete;
    ~IntInOut() {
        if (now_ != before_) *of_ = ToFace(now_);
    }
    operator int *() {
        return of_ != nullptr ? &now_ : nullptr;
    }

  private:
    int *of_;
    int before_ = 0;
    int now_ = 0;
};

template <int (*Convert)(int)> class IntsIn {
  public:
    IntsIn(const int *from, MPI_Count length) : present_(from != nullptr), natives_(present_ ? length : 0) {
        for (std::size_t i = 0; i < natives_.size(); ++i) natives_[i] = Convert(from[i]);
    }
    operator const int *() {
        return present_ ? natives_.data() : nullptr;
    }

  private:
    bool present_;
    Array<int> natives_;
};

template <int (*Convert)(int)> class IntsOut {
  public:
    IntsOut(int *to, MPI_Count length) : to_(to), results_(to != nullptr ? length : 0) {
        std::fill_n(results_.data(), results_.size(), nothing);
    }
    IntsOut(const IntsOut &) = delete;
    IntsOut &operator=(const IntsOut &) = delete;
    ~IntsOut() {
        for (std::size_t i = 0; i < results_.size(); ++i)
            if (results_[i] != nothing) to_[i] = Convert(results_[i]);
    }
    operator int *() {
        return to_ != nullptr ? results_.data() : nullptr;
    }

  private:
    int *to_;
    Array<int> results_;
};

/// A text of the library that may be longer than the program's room for it. `length`, if any, is the function's result
/// that says how long it is.
template <std::size_t LibraryRoom, std::size_t FaceRoom> class StringOut {
  public:
    explicit StringOut(char *to, int *length = nullptr) : to_(to), length_(length) {
        text_[0] = unwritten;
    }
    StringOut(const StringOut &) = delete;
    StringOut &operator=(const StringOut &) = delete;
    ~StringOut() {
        if (to_ == nullptr || text_[0] == unwritten) return;
        const std::size_t length = std::min(strnlen(text_.data(), text_.size()), FaceRoom - 1);
        std::memcpy(to_, text_.data(), length);
        to_[length] = '\0';
        if (length_ != nullptr) *length_ = static_cast<int>(length);
    }
    operator char *() {
        return to_ != nullptr ? text_.data() : nullptr;
    }

  private:
    static constexpr char unwritten = '\x7f';

    char *to_;
    int *length_;
    std::array<char, LibraryRoom> text_;
};

} // namespace volley::faces
