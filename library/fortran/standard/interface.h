// SPDX-License-Identifier: BSD-3-Clause
/// This library's own binary interface for Fortran. Handles of predefined objects are the numbers of the standard's
/// ABI, others what MPI_Comm_toint and its relatives give. Statuses, constants and codes are those of C.
#pragma once

#include "core/callbacks.h"
#include "core/object_numbers.h"
#include "faces/conversion.h"
#include "fortran/standard/variables.h"

namespace volley::faces {

template <class Native> struct FaceHandle {
    using Type = int;
};

/// Handles below are predefined (core/object.h).
inline constexpr std::uintptr_t first_object_address = 4096;

template <class Native> Native to_native(Face<Native> handle) {
    const auto number = static_cast<std::uint32_t>(handle);
    if (number < first_object_address) return reinterpret_cast<Native>(static_cast<std::uintptr_t>(number));
    return reinterpret_cast<Native>(numbered_object(number - static_cast<std::uint32_t>(first_object_address)));
}

template <class Native> Face<Native> to_face(Native handle) {
    const auto address = reinterpret_cast<std::uintptr_t>(handle);
    if (address < first_object_address) return static_cast<int>(address);
    return static_cast<int>(first_object_address + number_of_object(address));
}

} // namespace volley::faces

namespace volley::fortran {

inline bool is_bottom(const void *address) {
    return address == &volley_fortran_bottom_;
}
inline bool is_in_place(const void *address) {
    return address == &volley_fortran_in_place_;
}
inline bool is_buffer_automatic(const void *address) {
    return address == &volley_fortran_buffer_automatic_;
}
inline void *buffer_automatic() {
    return &volley_fortran_buffer_automatic_;
}
inline bool is_status_ignore(const void *address) {
    return address == &volley_fortran_status_ignore_ || address == &volley_fortran_statuses_ignore_;
}
inline bool is_errcodes_ignore(const void *address) {
    return address == &volley_fortran_errcodes_ignore_;
}
inline bool is_unweighted(const void *address) {
    return address == &volley_fortran_unweighted_;
}
inline bool is_weights_empty(const void *address) {
    return address == &volley_fortran_weights_empty_;
}
inline bool is_argv_null(const void *address) {
    return address == &volley_fortran_argv_null_;
}
inline bool is_argvs_null(const void *address) {
    return address == &volley_fortran_argvs_null_;
}

inline int c_keyval(int keyval) {
    return keyval;
}

// What the library hands to callbacks, and takes from them.
using LibraryDatatype = MPI_Datatype;

template <class Native> int fortran_handle(void *handle) {
    return faces::to_face(static_cast<Native>(handle));
}
inline int fortran_keyval(int keyval) {
    return keyval;
}
inline int fortran_code(int code) {
    return code;
}
inline int library_code(int code) {
    return code;
}

inline void call_operation_by(MPI_Op op, ReductionCaller caller) {
    volley_call_operation_by(op, caller);
}
inline void call_errhandler_by(MPI_Errhandler errhandler, ErrhandlerCaller caller) {
    volley_call_errhandler_by(errhandler, caller);
}
inline void call_keyval_by(int keyval, CopyAttributeCaller copy, DeleteAttributeCaller remove) {
    volley_call_keyval_by(keyval, copy, remove);
}

} // namespace volley::fortran
