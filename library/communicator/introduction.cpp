// SPDX-License-Identifier: BSD-3-Clause
#include "communicator/introduction.h"

#include "boot/addresses.h"
#include "boot/error.h"
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
    if (node_records(node.arena)[node.number()].address.family != 0) return address_of(node.number());
    return own_address_beside(near).value_or(near);
}

ProcessDescription describe_own(const NetworkAddress &near) {
    ProcessDescription own{
        .name = processes[node.rank].name, .address = own_address(near), .node = node.number(), .port = 0};
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
    std::vector<ProcessIndex> members;
    for (const ProcessDescription &other : others)
        members.push_back(processes.introduce(other.name, {.address = other.address,
                                                           .port = static_cast<std::uint16_t>(other.port),
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
