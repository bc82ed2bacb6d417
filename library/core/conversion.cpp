// SPDX-License-Identifier: BSD-3-Clause
/// Handles as integers, for languages whose handles they are (MPI 5.0, section 19.3.4).
///
/// Predefined handles are the numbers of the ABI; those of objects lie above them, in the order of the places where
/// objects lie.
#include "core/functions.h"
#include "core/object.h"

namespace volley {
namespace {

template <class Handle> int to_integer(Handle handle) {
    auto address = reinterpret_cast<std::uintptr_t>(handle);
    if (address < first_object) return static_cast<int>(address);
    return static_cast<int>(first_object + number_of_object(address));
}

/// `null` for numbers that no handle has.
template <class Handle> Handle from_integer(int number, Handle null) {
    if (number <= 0) return null;
    auto value = static_cast<std::uintptr_t>(number);
    if (value < first_object) return reinterpret_cast<Handle>(value);
    const std::uintptr_t address = numbered_object(static_cast<std::uint32_t>(value - first_object));
    return address != 0 ? reinterpret_cast<Handle>(address) : null;
}

} // namespace

int mpi::Comm_toint(MPI_Comm comm) {
    return to_integer(comm);
}

MPI_Comm mpi::Comm_fromint(int comm) {
    return from_integer(comm, MPI_COMM_NULL);
}

int mpi::Errhandler_toint(MPI_Errhandler errhandler) {
    return to_integer(errhandler);
}

MPI_Errhandler mpi::Errhandler_fromint(int errhandler) {
    return from_integer(errhandler, MPI_ERRHANDLER_NULL);
}

int mpi::File_toint(MPI_File file) {
    return to_integer(file);
}

MPI_File mpi::File_fromint(int file) {
    return from_integer(file, MPI_FILE_NULL);
}

int mpi::Group_toint(MPI_Group group) {
    return to_integer(group);
}

MPI_Group mpi::Group_fromint(int group) {
    return from_integer(group, MPI_GROUP_NULL);
}

int mpi::Info_toint(MPI_Info info) {
    return to_integer(info);
}

MPI_Info mpi::Info_fromint(int info) {
    return from_integer(info, MPI_INFO_NULL);
}

int mpi::Message_toint(MPI_Message message) {
    return to_integer(message);
}

MPI_Message mpi::Message_fromint(int message) {
    return from_integer(message, MPI_MESSAGE_NULL);
}

int mpi::Op_toint(MPI_Op op) {
    return to_integer(op);
}

MPI_Op mpi::Op_fromint(int op) {
    return from_integer(op, MPI_OP_NULL);
}

int mpi::Request_toint(MPI_Request request) {
    return to_integer(request);
}

MPI_Request mpi::Request_fromint(int request) {
    return from_integer(request, MPI_REQUEST_NULL);
}

int mpi::Session_toint(MPI_Session session) {
    return to_integer(session);
}

MPI_Session mpi::Session_fromint(int session) {
    return from_integer(session, MPI_SESSION_NULL);
}

int mpi::Type_toint(MPI_Datatype datatype) {
    return to_integer(datatype);
}

MPI_Datatype mpi::Type_fromint(int datatype) {
    return from_integer(datatype, MPI_DATATYPE_NULL);
}

int mpi::Win_toint(MPI_Win win) {
    return to_integer(win);
}

MPI_Win mpi::Win_fromint(int win) {
    return from_integer(win, MPI_WIN_NULL);
}

} // namespace volley
