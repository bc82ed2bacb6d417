// SPDX-License-Identifier: BSD-3-Clause
#include "communicator/introduction.h"

#include "boot/addresses.h"
#include "boot/error.h"
#include "boot/foreign/host_card.h"
#include "collective/internal.h"
#include "core/error.h"
#include "core/messages.h"
#include "transport/tcp/tcp.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace volley {
namespace {

/// Where others reach this process: at the address of its node; if its job has none since it is on one host, at that
/// host's in the same network, or on the same host.
NetworkAddress own_address(const NetworkAddress &near) {
    if (node_records(node.arena)[node.number()].addresses[0].family != 0) return address_of(node.number());
    return own_address_beside(near).value_or(near);
}

/// A job that is to use something else than memory does so with other jobs as well, and so does one whose ranks are
/// taken to be on several hosts.
bool may_share_memory() {
    const ArenaHead &arena = *node.arena;
    return arena.transport == Transport::shm && (arena.node >= 0 || arena.nodes == 1);
}

std::uint64_t own_host() {
    static const std::uint64_t number = host_identity();
    return number;
}

/// Without room for a socket or memory, there is TCP.
PlaceOnHost own_place() {
    if (!may_share_memory()) return {};
    try {
        return {.host = own_host(), .socket = tcp.listen_on_this_host(), .unused = 0};
    } catch (const Error &) {
        return {};
    }
}

/// Where to connect to a process to share memory with it; 0: it is on another host.
std::uint32_t socket_beside(const PlaceOnHost &own, const PlaceOnHost &other) {
    return own.socket != 0 && own.host == other.host ? other.socket : 0;
}

ProcessDescription describe_own(const NetworkAddress &near) {
    ProcessDescription own{.name = processes[node.rank].name,
                           .address = own_address(near),
                           .node = node.number(),
                           .port = 0,
                           .on_host = own_place()};
    try {
        tcp.open({});
        own.port = tcp.listen_for_others(own.address);
    } catch (const Error &error) {
        std::fprintf(stderr, "Volley: rank %d: %s\n", node.rank, error.what());
    }
    return own;
}

} // namespace

bool can_be_reached(const Descriptions &descriptions) {
    return std::ranges::none_of(descriptions, [](const ProcessDescription &member) { return member.port == 0; });
}

int describe_group(Communicator &comm, const NetworkAddress &near, Descriptions &descriptions) {
    const ProcessDescription own = describe_own(near);
    descriptions.resize(static_cast<std::size_t>(comm.size()));
    return allgather(&own, sizeof own, descriptions.data(), comm);
}

Group *introduce(const Descriptions &others, const Secret &secret) {
    const PlaceOnHost own = own_place();
    std::vector<ProcessIndex> members;
    for (const ProcessDescription &other : others)
        members.push_back(processes.introduce(other.name, {.address = other.address,
                                                           .port = static_cast<std::uint16_t>(other.port),
                                                           .host_socket = socket_beside(own, other.on_host),
                                                           .node = other.node,
                                                           .secrets = {secret}}));
    messages.make_room();
    return Group::make(std::move(members));
}

int share_code(int code, int root, Communicator &comm) {
    struct {
        std::int32_t error_class = 0;
        std::array<char, 512> sentence = {};
    } shared;
    if (comm.rank() == root) {
        shared.error_class = class_of_any_code(code);
        std::string(sentence_of(code)).copy(shared.sentence.data(), shared.sentence.size() - 1);
    }
    if (int failure = broadcast(&shared, sizeof shared, root, comm); failure != MPI_SUCCESS) return failure;
    if (comm.rank() == root || shared.error_class == MPI_SUCCESS) return code;
    return fail(shared.error_class, "%s", shared.sentence.data());
}

} // namespace volley
