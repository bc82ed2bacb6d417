// SPDX-License-Identifier: BSD-3-Clause
/// Open MPI's handles are addresses. A predefined one is the address of a variable that holds the library's number for
/// it; the program may have a copy of the variable, which then is the only one. Any other is the library's own handle:
/// what lies there begins with the mark of a kind of object, which is no such number.
#pragma once

#include "faces/conversion.h"
#include "values.h"

namespace volley::faces {

template <class Native> struct FaceHandle {
    using Type = void *;
};

inline constexpr std::uintptr_t first_object_address = 4096;

template <class Native> Native to_native(Face<Native> handle) {
    if (handle == nullptr) return nullptr;
    std::uint32_t first_word;
    std::memcpy(&first_word, handle, sizeof first_word);
    // 0: an object that was freed; the library says so.
    if (first_word - 1 < first_object_address - 1)
        return reinterpret_cast<Native>(static_cast<std::uintptr_t>(first_word));
    return static_cast<Native>(handle);
}

template <class Native> Face<Native> to_face(Native handle) {
    const auto address = reinterpret_cast<std::uintptr_t>(handle);
    if (address >= first_object_address) return handle;
    return address < predefined_handles ? predefined_handle[address] : nullptr;
}

struct Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int cancelled;
    std::size_t bytes;
};

inline bool is_ignored(const Status *status) {
    return status == nullptr;
}
inline void write_count(Status &status, MPI_Count bytes, bool cancelled) {
    status.cancelled = cancelled;
    status.bytes = static_cast<std::size_t>(bytes);
}
inline MPI_Count count_of(const Status &status) {
    return static_cast<MPI_Count>(status.bytes);
}
inline bool cancelled_of(const Status &status) {
    return status.cancelled != 0;
}

static_assert(face_MPI_IN_PLACE == 1, "as the library has it");
template <class Pointer> Pointer buffer_to_native(Pointer buffer) {
    return buffer;
}

inline void rename_datatype(void *, char *) {}
inline void buffer_to_face(void *) {}

template <class Pointer> Pointer weights_to_native(Pointer weights) {
    const auto address = reinterpret_cast<std::intptr_t>(weights);
    if (address == face_MPI_UNWEIGHTED) return MPI_UNWEIGHTED;
    if (address == face_MPI_WEIGHTS_EMPTY) return MPI_WEIGHTS_EMPTY;
    return weights;
}

} // namespace volley::faces

#include "faces/codes.h"
#include "faces/statuses.h"
