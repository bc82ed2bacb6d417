// SPDX-License-Identifier: BSD-3-Clause
#include "tools/snapshot_parts.h"

#include "boot/encoding.h"
#include "boot/look_request.h"

#include <algorithm>
#include <iterator>

namespace volley::view {

auto fields(MaybeConst<WaitView> auto &wait) {
    return std::tie(wait.kind, wait.peer, wait.world_peer, wait.tag, wait.context, wait.count, wait.datatype,
                    wait.since_ns, wait.collective, wait.root, wait.requests, wait.alternatives);
}

auto fields(MaybeConst<CommunicatorView> auto &communicator) {
    return std::tie(communicator.context, communicator.size, communicator.rank, communicator.own_group,
                    communicator.peer_group, communicator.collectives, communicator.rounds, communicator.name);
}

auto fields(MaybeConst<RankView> auto &rank) {
    return std::tie(rank.rank, rank.node, rank.process, rank.program, rank.placement, rank.space, rank.program_base,
                    rank.interpreter_base, rank.doing, rank.function, rank.wait, rank.thread_level, rank.posted,
                    rank.unexpected, rank.communicators, rank.lost_wake_ups, rank.traffic, rank.taken_ns);
}

namespace {

/// What one host tells of a job.
struct Part {
    std::int32_t node = -1;
    std::uint32_t cpus = 0;
    std::uint32_t ending = 0;
    std::vector<RankView> ranks;
    std::vector<MessageView> messages;
    std::vector<ConnectionView> connections;
};

auto fields(MaybeConst<Part> auto &part) {
    return std::tie(part.node, part.cpus, part.ending, part.ranks, part.messages, part.connections);
}

bool is_on(const Snapshot &snapshot, int rank, std::int32_t node) {
    return rank >= 0 && rank < static_cast<int>(snapshot.ranks.size()) &&
           snapshot.ranks[static_cast<std::size_t>(rank)].node == node;
}

} // namespace

std::string encode_part(const Snapshot &snapshot) {
    Part part{.node = snapshot.node,
              .cpus = snapshot.cpus,
              .ending = snapshot.ending,
              .ranks = {},
              .messages = {},
              .connections = {}};
    std::ranges::copy_if(snapshot.ranks, std::back_inserter(part.ranks),
                         [&](const RankView &rank) { return rank.node == snapshot.node; });
    part.messages = snapshot.messages;
    part.connections = snapshot.connections;
    std::string text = encoded(part);
    if (text.size() <= longest_look_bytes) return text;
    part.messages.clear();
    text = encoded(part);
    if (text.size() > longest_look_bytes) return {}; // shown as a host that does not answer
    return text;
}

void add_part(Snapshot &whole, const std::string &text) {
    Part part;
    decode_into(text, part);
    if (part.node < 0 || part.node >= static_cast<std::int32_t>(whole.hosts.size())) return;
    HostView &host = whole.hosts[static_cast<std::size_t>(part.node)];
    if (host.is_seen) return;
    host.is_seen = true;
    whole.cpus += part.cpus;
    whole.ending |= part.ending != 0;
    for (RankView &rank : part.ranks)
        if (is_on(whole, rank.rank, part.node)) whole.ranks[static_cast<std::size_t>(rank.rank)] = std::move(rank);
    const auto ranks = static_cast<int>(whole.ranks.size());
    for (const MessageView &message : part.messages)
        if (is_on(whole, message.destination, part.node) && message.source >= 0 && message.source < ranks)
            whole.messages.push_back(message);
    for (const ConnectionView &connection : part.connections)
        if (is_on(whole, connection.rank, part.node) && connection.peer >= 0 && connection.peer < ranks)
            whole.connections.push_back(connection);
}

void add_silence(Snapshot &whole, std::int32_t node) {
    if (node < 0 || node >= static_cast<std::int32_t>(whole.hosts.size())) return;
    HostView &host = whole.hosts[static_cast<std::size_t>(node)];
    if (host.is_seen) return;
    host.is_silent = true;
    for (RankView &rank : whole.ranks)
        if (rank.node == node) rank.doing = Doing::silent;
}

} // namespace volley::view
