// SPDX-License-Identifier: BSD-3-Clause
/// Ports, and connecting two groups of processes (MPI 5.0, sections 11.9 and 11.10).
#include "core/functions.h"

#include "boot/error.h"
#include "boot/sockets.h"
#include "communicator/new_communicator.h"
#include "core/error.h"
#include "core/info.h"
#include "dynamic/connect.h"
#include "dynamic/port.h"
#include "transport/node.h"
#include "transport/tcp/tcp.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>

namespace volley {
namespace {

/// The ports that this process has opened.
std::vector<std::unique_ptr<Port>> &ports() {
    static auto *open = new std::vector<std::unique_ptr<Port>>; // outlives static destructors
    return *open;
}

auto find_port(const char *name) {
    return std::ranges::find_if(ports(), [&](const auto &port) { return port->name().text() == name; });
}

int not_open(const char *port_name) {
    return fail(MPI_ERR_PORT, "port_name is \"%.80s\", which is no port that this process has open", port_name);
}

/// The address that the hint ip_address names, else that of this rank's node.
int address_for_port(const Info *info, NetworkAddress &address) {
    const std::string *wanted = info ? info->find("ip_address") : nullptr;
    address = address_of(node.number());
    if (!wanted) return MPI_SUCCESS;
    const auto named = parse_address(*wanted);
    if (!named) return fail(MPI_ERR_INFO_VALUE, "ip_address is \"%s\", which is no IP address", wanted->c_str());
    address = *named;
    return MPI_SUCCESS;
}

int no_port_name() {
    return fail(MPI_ERR_ARG, "port_name is a null pointer at the root");
}

int accept_at(const char *port_name, Meeting &meeting) {
    if (!port_name) return no_port_name();
    auto port = find_port(port_name);
    if (port == ports().end()) return not_open(port_name);
    meeting.link = Link((*port)->accept());
    meeting.accepts = true;
    return MPI_SUCCESS;
}

/// How long the owner of a port may take to accept (MPI 5.0, section 11.9.4, leaves that to the MPI, but it must end).
/// The hint timeout has seconds.
int time_to_connect(const Info *info, std::chrono::seconds &time) {
    time = std::chrono::minutes(3);
    const std::string *wanted = info ? info->find("timeout") : nullptr;
    if (!wanted) return MPI_SUCCESS;
    int seconds = 0;
    const char *end = wanted->data() + wanted->size();
    if (std::from_chars(wanted->data(), end, seconds).ptr != end || seconds <= 0)
        return fail(MPI_ERR_INFO_VALUE, "timeout is \"%s\", but must be a number of seconds", wanted->c_str());
    time = std::chrono::seconds(seconds);
    return MPI_SUCCESS;
}

int connect_at(const char *port_name, const Info *info, Meeting &meeting) {
    if (!port_name) return no_port_name();
    const auto name = PortName::of(port_name);
    if (!name) return fail(MPI_ERR_PORT, "port_name is \"%.80s\", which is no port's name", port_name);
    std::chrono::seconds time = {};
    if (int code = time_to_connect(info, time); code != MPI_SUCCESS) return code;
    const Deadline deadline(time);
    Descriptor socket = connect_to_port(*name, &deadline);
    if (!socket && errno == ETIMEDOUT)
        return fail(MPI_ERR_PORT,
                    "nobody has called MPI_Comm_accept at the port %s:%d for %lld s; the hint timeout of "
                    "MPI_Comm_connect says how long to wait",
                    text_of(name->address).c_str(), name->port, static_cast<long long>(time.count()));
    if (!socket)
        return fail(MPI_ERR_PORT, "nobody takes connections at the port %s:%d: %s", text_of(name->address).c_str(),
                    name->port, std::strerror(errno));
    meeting.link = Link(std::move(socket));
    return MPI_SUCCESS;
}

int give(Communicator &comm, int code, Communicator *made, MPI_Comm *handle) {
    if (code == MPI_SUCCESS) *handle = hand_out(comm, made);
    return code;
}

/// Both sides draw a number; the higher one accepts.
int meet_at(int socket, Meeting &meeting) {
    meeting.link = Link(socket);
    std::uint64_t own = 0, other = 0;
    do {
        if (getrandom(&own, sizeof own, 0) != sizeof own) return fail(MPI_ERR_OTHER, "cannot draw random bytes");
        if (!meeting.link.write(&own, sizeof own) || !meeting.link.read(&other, sizeof other))
            return fail(MPI_ERR_OTHER, "fd is %d, which is no socket to another process, or that process has gone",
                        socket);
    } while (own == other);
    meeting.accepts = own > other;
    return MPI_SUCCESS;
}

} // namespace

namespace mpi {

int Open_port(Info *info, char *port_name) {
    NetworkAddress address;
    if (int code = address_for_port(info, address); code != MPI_SUCCESS) return code;
    try {
        ports().push_back(std::make_unique<Port>(address));
    } catch (const Error &error) {
        return fail(MPI_ERR_OTHER, "%s", error.what());
    }
    const std::string text = ports().back()->name().text();
    static_assert(MPI_MAX_PORT_NAME >= 256);
    std::memcpy(port_name, text.c_str(), text.size() + 1);
    return MPI_SUCCESS;
}

int Close_port(const char *port_name) {
    auto port = find_port(port_name);
    if (port == ports().end()) return not_open(port_name);
    ports().erase(port);
    return MPI_SUCCESS;
}

int Comm_accept(const char *port_name, Info *, int root, Communicator &comm, MPI_Comm *newcomm) {
    *newcomm = MPI_COMM_NULL;
    if (int code = check_root(root, comm); code != MPI_SUCCESS) return code;
    Communicator *made = nullptr;
    int code = connect_groups(comm, root, [&](Meeting &meeting) { return accept_at(port_name, meeting); }, made);
    return give(comm, code, made, newcomm);
}

int Comm_connect(const char *port_name, Info *info, int root, Communicator &comm, MPI_Comm *newcomm) {
    *newcomm = MPI_COMM_NULL;
    if (int code = check_root(root, comm); code != MPI_SUCCESS) return code;
    Communicator *made = nullptr;
    int code = connect_groups(comm, root, [&](Meeting &meeting) { return connect_at(port_name, info, meeting); }, made);
    return give(comm, code, made, newcomm);
}

int Comm_join(int fd, MPI_Comm *intercomm) {
    *intercomm = MPI_COMM_NULL;
    Communicator &self = Communicator::self();
    Communicator *made = nullptr;
    int code = connect_groups(self, 0, [&](Meeting &meeting) { return meet_at(fd, meeting); }, made);
    return give(self, code, made, intercomm);
}

} // namespace mpi
} // namespace volley
