// SPDX-License-Identifier: BSD-3-Clause
#include "dynamic/parent.h"

#include "boot/new_job_request.h"
#include "core/error.h"
#include "core/functions.h"
#include "dynamic/connect.h"
#include "dynamic/port.h"

#include <cerrno>
#include <cstring>

namespace volley {
namespace {

Origin origin;
Communicator *parent = nullptr;

void forget_parent(Communicator &communicator) {
    if (&communicator == parent) parent = nullptr;
}

const bool registered = (Communicator::on_release(forget_parent), true);

int meet_parent(Meeting &meeting) {
    const auto name = PortName::of(origin.parent);
    Descriptor socket = name ? connect_to_port(*name) : Descriptor();
    if (!socket)
        return fail(MPI_ERR_SPAWN, "the processes that have spawned this job cannot be reached: %s",
                    std::strerror(errno));
    meeting.link = Link(std::move(socket));
    return MPI_SUCCESS;
}

} // namespace

void take_origin_of_job() {
    origin = take_origin();
}

int connect_to_parent() {
    if (origin.parent.empty()) return MPI_SUCCESS;
    if (int code = connect_groups(Communicator::world(), 0, meet_parent, parent); code != MPI_SUCCESS) return code;
    parent->set_name("MPI_COMM_PARENT");
    return MPI_SUCCESS;
}

std::uint32_t launcher_socket() {
    return origin.launcher;
}

int mpi::Comm_get_parent(MPI_Comm *handle) {
    *handle = parent && !parent->freed ? parent->handle() : MPI_COMM_NULL;
    return MPI_SUCCESS;
}

} // namespace volley
