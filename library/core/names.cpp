// SPDX-License-Identifier: BSD-3-Clause
/// Names of communicators, datatypes and windows (MPI 5.0, section 7.8).
#include "core/communicator.h"
#include "core/functions.h"
#include "core/window.h"

#include <cstring>
#include <string_view>

namespace volley {
namespace {

/// Names are never longer than what the caller has room for.
int give(std::string_view name, char *string, int *length) {
    std::memcpy(string, name.data(), name.size());
    string[name.size()] = '\0';
    *length = static_cast<int>(name.size());
    return MPI_SUCCESS;
}

std::string_view limited(const char *name) {
    return {name, strnlen(name, MPI_MAX_OBJECT_NAME - 1)};
}

} // namespace

int mpi::Comm_set_name(Communicator &comm, const char *comm_name) {
    comm.set_name(limited(comm_name));
    return MPI_SUCCESS;
}

int mpi::Comm_get_name(Communicator *comm, char *comm_name, int *resultlen) {
    return give(comm != nullptr ? comm->name() : "MPI_COMM_NULL", comm_name, resultlen);
}

int mpi::Type_set_name(Datatype &datatype, const char *type_name) {
    datatype.set_name(limited(type_name));
    return MPI_SUCCESS;
}

int mpi::Type_get_name(Datatype *datatype, char *type_name, int *resultlen) {
    return give(datatype != nullptr ? datatype->name() : "MPI_DATATYPE_NULL", type_name, resultlen);
}

int mpi::Win_set_name(Window &win, const char *win_name) {
    win.set_name(limited(win_name));
    return MPI_SUCCESS;
}

int mpi::Win_get_name(Window *win, char *win_name, int *resultlen) {
    return give(win != nullptr ? win->name() : "MPI_WIN_NULL", win_name, resultlen);
}

} // namespace volley
