// SPDX-License-Identifier: BSD-3-Clause
#include "abi/checks.h"

#include "core/engine.h"
#include "core/error.h"
#include "core/failures.h"

#include <string>

namespace volley::abi {
namespace {

/// A handle that names no object of the wanted kind: null, or an address where none (any more) is.
template <class Handle>
int bad_handle(int error_class, const char *argument, Handle handle, Handle null, const char *null_name,
               const char *kind) {
    if (handle == null) return fail(error_class, "%s is %s, but must be a %s", argument, null_name, kind);
    if (handle == nullptr) return fail(error_class, "%s is 0, which is no handle, but must be a %s", argument, kind);
    return fail(error_class, "%s is %#zx, which is no %s, or one that was freed", argument,
                reinterpret_cast<std::uintptr_t>(handle), kind);
}

} // namespace

int bad_communicator(const char *argument, MPI_Comm handle) {
    if (handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF)
        return fail(MPI_ERR_COMM, "%s is %s, which exists only between MPI_Init and MPI_Finalize", argument,
                    handle == MPI_COMM_WORLD ? "MPI_COMM_WORLD" : "MPI_COMM_SELF");
    return bad_handle(MPI_ERR_COMM, argument, handle, MPI_COMM_NULL, "MPI_COMM_NULL", "communicator");
}

int bad_group(const char *argument, MPI_Group handle) {
    return bad_handle(MPI_ERR_GROUP, argument, handle, MPI_GROUP_NULL, "MPI_GROUP_NULL", "group");
}

int bad_datatype(const char *argument, MPI_Datatype handle) {
    return bad_handle(MPI_ERR_TYPE, argument, handle, MPI_DATATYPE_NULL, "MPI_DATATYPE_NULL", "datatype");
}

int bad_operation(const char *argument, MPI_Op handle) {
    return bad_handle(MPI_ERR_OP, argument, handle, MPI_OP_NULL, "MPI_OP_NULL", "reduction operation");
}

int bad_errhandler(const char *argument, MPI_Errhandler handle) {
    return bad_handle(MPI_ERR_ERRHANDLER, argument, handle, MPI_ERRHANDLER_NULL, "MPI_ERRHANDLER_NULL",
                      "error handler");
}

int bad_info(const char *argument, MPI_Info handle) {
    return bad_handle(MPI_ERR_INFO, argument, handle, MPI_INFO_NULL, "MPI_INFO_NULL", "info object");
}

int bad_session(const char *argument, MPI_Session handle) {
    return bad_handle(MPI_ERR_SESSION, argument, handle, MPI_SESSION_NULL, "MPI_SESSION_NULL", "session");
}

int bad_window(const char *argument, MPI_Win handle) {
    return bad_handle(MPI_ERR_WIN, argument, handle, MPI_WIN_NULL, "MPI_WIN_NULL", "window");
}

int bad_file(const char *argument, MPI_File handle) {
    return bad_handle(MPI_ERR_FILE, argument, handle, MPI_FILE_NULL, "MPI_FILE_NULL", "file");
}

int not_committed(const char *argument, const Datatype &datatype) {
    auto name = datatype.name();
    return fail(MPI_ERR_TYPE, "%s is a datatype%s%.*s that is not committed; call MPI_Type_commit first", argument,
                name.empty() ? "" : " ", static_cast<int>(name.size()), name.data());
}

int not_intra(const char *argument, const Communicator &communicator) {
    auto name = communicator.name();
    return fail(MPI_ERR_COMM, "%s is the intercommunicator '%.*s', but must be an intracommunicator", argument,
                static_cast<int>(name.size()), name.data());
}

int not_inter(const char *argument, const Communicator &communicator) {
    auto name = communicator.name();
    return fail(MPI_ERR_COMM, "%s is the intracommunicator '%.*s', but must be an intercommunicator", argument,
                static_cast<int>(name.size()), name.data());
}

int bad_count(int error_class, const char *argument, Count count) {
    return fail(error_class, "%s is %lld, but must not be negative", argument, static_cast<long long>(count));
}

int bad_elements(const char *argument, Count count, const Datatype &datatype) {
    if (count < 0) return bad_count(MPI_ERR_COUNT, argument, count);
    return too_many_elements(argument, count, datatype);
}

int bad_tag(const char *argument, int tag, bool wildcard) {
    return fail(MPI_ERR_TAG, "%s is %d, but must be from 0 to %d%s", argument, tag, std::numeric_limits<int>::max(),
                wildcard ? ", or MPI_ANY_TAG" : "");
}

int bad_peer(const char *argument, int peer, const Communicator &communicator, bool wildcard) {
    if (communicator.is_revoked()) return failures.code_of(communicator);
    if (peer == MPI_PROC_NULL || (wildcard && peer == MPI_ANY_SOURCE)) return MPI_SUCCESS;
    if (communicator.peers() == 0)
        return fail(MPI_ERR_RANK, "%s is %d, but the communicator has no ranks to talk to", argument, peer);
    return fail(MPI_ERR_RANK, "%s is %d, but must be a rank from 0 to %d%s%s", argument, peer, communicator.peers() - 1,
                wildcard ? ", MPI_ANY_SOURCE or MPI_PROC_NULL" : " or MPI_PROC_NULL",
                communicator.is_inter() ? " (in the remote group)" : "");
}

int bad_rank(const char *argument, int rank, const Communicator &communicator) {
    return fail(MPI_ERR_RANK, "%s is %d, but must be a rank from 0 to %d", argument, rank, communicator.size() - 1);
}

int check_special_buffer(const char *argument, const void *buffer, Count count, const Datatype &datatype) {
    if (buffer == MPI_IN_PLACE)
        return fail(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which only some collective operations understand", argument);
    // Data at address 0 is nobody's. A datatype whose data begins elsewhere may well hold addresses.
    if (count == 0 || datatype.size() == 0 || datatype.true_lb() != 0) return MPI_SUCCESS;
    return fail(MPI_ERR_BUFFER, "%s is a null pointer, but there are %lld elements of %lld bytes to be put there",
                argument, static_cast<long long>(count), static_cast<long long>(datatype.size()));
}

int wrong_errhandler(const char *argument, const char *wanted) {
    return fail(MPI_ERR_ARG, "%s was made for another kind of object, but must be one for %s", argument, wanted);
}

int null_pointer(int error_class, const char *argument) {
    return fail(error_class, "%s is a null pointer", argument);
}

} // namespace volley::abi
