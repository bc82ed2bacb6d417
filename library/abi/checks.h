// SPDX-License-Identifier: BSD-3-Clause
/// Arguments of entry points: handles decoded, values checked.
///
/// All functions return MPI_SUCCESS or an error code; `argument` is the parameter's name in the standard. The tests are
/// inline; the functions that make an error's sentence are not.
#pragma once

#include "core/communicator.h"
#include "core/datatype/datatype.h"
#include "core/errhandler.h"
#include "core/group.h"
#include "core/info.h"
#include "core/operation.h"
#include "core/session.h"
#include "core/window.h"
#include "file/file.h"

#include <mpi.h>

#include <cstdint>

namespace volley::abi {

// The sentences.
[[gnu::cold]] int bad_communicator(const char *argument, MPI_Comm handle);
[[gnu::cold]] int bad_group(const char *argument, MPI_Group handle);
[[gnu::cold]] int bad_datatype(const char *argument, MPI_Datatype handle);
[[gnu::cold]] int bad_operation(const char *argument, MPI_Op handle);
[[gnu::cold]] int bad_errhandler(const char *argument, MPI_Errhandler handle);
[[gnu::cold]] int bad_info(const char *argument, MPI_Info handle);
[[gnu::cold]] int bad_session(const char *argument, MPI_Session handle);
[[gnu::cold]] int bad_window(const char *argument, MPI_Win handle);
[[gnu::cold]] int bad_file(const char *argument, MPI_File handle);
[[gnu::cold]] int not_committed(const char *argument, const Datatype &datatype);
[[gnu::cold]] int not_intra(const char *argument, const Communicator &communicator);
[[gnu::cold]] int not_inter(const char *argument, const Communicator &communicator);
[[gnu::cold]] int bad_count(int error_class, const char *argument, Count count);
[[gnu::cold]] int bad_elements(const char *argument, Count count, const Datatype &datatype);
[[gnu::cold]] int bad_tag(const char *argument, int tag, bool wildcard);
[[gnu::cold]] int bad_peer(const char *argument, int peer, const Communicator &communicator, bool wildcard);
[[gnu::cold]] int bad_rank(const char *argument, int rank, const Communicator &communicator);
[[gnu::cold]] int check_special_buffer(const char *argument, const void *buffer, Count count, const Datatype &datatype);
[[gnu::cold]] int null_pointer(int error_class, const char *argument);
[[gnu::cold]] int wrong_errhandler(const char *argument, const char *wanted);

inline int decode(const char *argument, MPI_Comm handle, Communicator *&object) {
    object = Communicator::from_handle(handle);
    if (object == nullptr || object->freed) [[unlikely]]
        return bad_communicator(argument, handle);
    return MPI_SUCCESS;
}

/// The null handle becomes nullptr.
inline int decode_or_null(const char *argument, MPI_Comm handle, Communicator *&object) {
    object = nullptr;
    return handle == MPI_COMM_NULL ? MPI_SUCCESS : decode(argument, handle, object);
}

inline int decode(const char *argument, MPI_Group handle, Group *&object) {
    object = Group::from_handle(handle);
    return object != nullptr ? MPI_SUCCESS : bad_group(argument, handle);
}

inline int decode(const char *argument, MPI_Datatype handle, Datatype *&object) {
    object = Datatype::from_handle(handle);
    if (object == nullptr) [[unlikely]]
        return bad_datatype(argument, handle);
    return MPI_SUCCESS;
}

inline int decode_or_null(const char *argument, MPI_Datatype handle, Datatype *&object) {
    object = nullptr;
    return handle == MPI_DATATYPE_NULL ? MPI_SUCCESS : decode(argument, handle, object);
}

inline int decode(const char *argument, MPI_Op handle, Operation *&object) {
    object = Operation::from_handle(handle);
    return object != nullptr ? MPI_SUCCESS : bad_operation(argument, handle);
}

inline int decode(const char *argument, MPI_Errhandler handle, Errhandler *&object) {
    object = Errhandler::from_handle(handle);
    return object != nullptr ? MPI_SUCCESS : bad_errhandler(argument, handle);
}

/// MPI_INFO_NULL becomes nullptr.
inline int decode(const char *argument, MPI_Info handle, Info *&object) {
    object = nullptr;
    if (handle == MPI_INFO_NULL) return MPI_SUCCESS;
    object = Info::from_handle(handle);
    return object != nullptr ? MPI_SUCCESS : bad_info(argument, handle);
}

inline int decode(const char *argument, MPI_Session handle, Session *&object) {
    object = Session::from_handle(handle);
    return object != nullptr ? MPI_SUCCESS : bad_session(argument, handle);
}

inline int decode(const char *argument, MPI_Win handle, Window *&object) {
    object = Window::from_handle(handle);
    if (object == nullptr) [[unlikely]]
        return bad_window(argument, handle);
    return MPI_SUCCESS;
}

inline int decode_or_null(const char *argument, MPI_Win handle, Window *&object) {
    object = nullptr;
    return handle == MPI_WIN_NULL ? MPI_SUCCESS : decode(argument, handle, object);
}

inline int decode(const char *argument, MPI_File handle, File *&object) {
    object = File::from_handle(handle);
    return object != nullptr ? MPI_SUCCESS : bad_file(argument, handle);
}

/// The null handle becomes nullptr.
inline int decode_or_null(const char *argument, MPI_File handle, File *&object) {
    object = nullptr;
    return handle == MPI_FILE_NULL ? MPI_SUCCESS : decode(argument, handle, object);
}

inline int check_info(const char *argument, const Info *info) {
    return info != nullptr ? MPI_SUCCESS : bad_info(argument, MPI_INFO_NULL);
}

inline int check_committed(const char *argument, const Datatype &datatype) {
    if (!datatype.is_committed()) [[unlikely]]
        return not_committed(argument, datatype);
    return MPI_SUCCESS;
}

inline int check_intra(const char *argument, const Communicator &communicator) {
    return !communicator.is_inter() ? MPI_SUCCESS : not_intra(argument, communicator);
}

inline int check_inter(const char *argument, const Communicator &communicator) {
    return communicator.is_inter() ? MPI_SUCCESS : not_inter(argument, communicator);
}

inline int check_count(const char *argument, Count count, int error_class = MPI_ERR_COUNT) {
    if (count < 0) [[unlikely]]
        return bad_count(error_class, argument, count);
    return MPI_SUCCESS;
}

/// So many elements of a datatype.
inline int check_elements(const char *argument, Count count, const Datatype &datatype) {
    if (!datatype.can_count(count)) [[unlikely]]
        return bad_elements(argument, count, datatype);
    return MPI_SUCCESS;
}

inline int check_tag(const char *argument, int tag) {
    if (tag < 0) [[unlikely]]
        return bad_tag(argument, tag, false);
    return MPI_SUCCESS;
}

inline int check_receive_tag(const char *argument, int tag) {
    if (tag < 0 && tag != MPI_ANY_TAG) [[unlikely]]
        return bad_tag(argument, tag, true);
    return MPI_SUCCESS;
}

inline int check_peer(const char *argument, int peer, const Communicator &communicator) {
    if (static_cast<unsigned>(peer) >= static_cast<unsigned>(communicator.peers()) &&
        (peer != MPI_PROC_NULL || communicator.peers() == 0)) [[unlikely]]
        return bad_peer(argument, peer, communicator, false);
    return MPI_SUCCESS;
}

inline int check_source(const char *argument, int peer, const Communicator &communicator) {
    if (static_cast<unsigned>(peer) >= static_cast<unsigned>(communicator.peers()) &&
        ((peer != MPI_PROC_NULL && peer != MPI_ANY_SOURCE) || communicator.peers() == 0)) [[unlikely]]
        return bad_peer(argument, peer, communicator, true);
    return MPI_SUCCESS;
}

/// Of the local group: a coordinate's or a neighbour's owner.
inline int check_rank(const char *argument, int rank, const Communicator &communicator) {
    if (static_cast<unsigned>(rank) >= static_cast<unsigned>(communicator.size())) [[unlikely]]
        return bad_rank(argument, rank, communicator);
    return MPI_SUCCESS;
}

/// MPI_BOTTOM is the null pointer: legal where the datatype holds addresses, a mistake where it does not.
inline int check_buffer(const char *argument, const void *buffer, Count count, const Datatype &datatype) {
    if (reinterpret_cast<std::uintptr_t>(buffer) <= reinterpret_cast<std::uintptr_t>(MPI_IN_PLACE)) [[unlikely]]
        return check_special_buffer(argument, buffer, count, datatype);
    return MPI_SUCCESS;
}

inline int check_pointer(const char *argument, const void *pointer, int error_class = MPI_ERR_ARG) {
    if (pointer == nullptr) [[unlikely]]
        return null_pointer(error_class, argument);
    return MPI_SUCCESS;
}

/// An error handler for a session, or a communicator, that is about to be made.
inline int check_fits_sessions(const char *argument, const Errhandler &errhandler) {
    return errhandler.fits(Mark::session) ? MPI_SUCCESS : wrong_errhandler(argument, "sessions");
}
inline int check_fits_communicators(const char *argument, const Errhandler &errhandler) {
    return errhandler.fits(Mark::communicator) ? MPI_SUCCESS : wrong_errhandler(argument, "communicators");
}

/// An array may be null where it is empty.
inline int check_array(const char *argument, const void *array, Count length) {
    if (array == nullptr && length > 0) [[unlikely]]
        return null_pointer(MPI_ERR_ARG, argument);
    return MPI_SUCCESS;
}

} // namespace volley::abi
