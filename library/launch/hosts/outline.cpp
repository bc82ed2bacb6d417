// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/outline.h"

#include <sys/mman.h>

#include <memory>

namespace volley::launch {
namespace {

template <class Type> bool append(const Descriptor &file, const Type &value) {
    return write(file.get(), static_cast<const void *>(&value), sizeof value) == static_cast<ssize_t>(sizeof value);
}

} // namespace

Descriptor make_outline(const JobLayout &layout, const std::vector<std::string> &hosts, std::uint32_t look_socket) {
    Descriptor file(memfd_create(layout.name.c_str(), MFD_CLOEXEC));
    if (!file) return {};
    const auto head = std::make_unique<ArenaHead>();
    head->magic = arena_magic;
    head->ranks = static_cast<std::uint32_t>(layout.node_of.size());
    head->nodes = static_cast<std::uint32_t>(hosts.size());
    head->node = layout.own;
    layout.name.copy(head->job, description_bytes - 1);
    layout.secret.copy(reinterpret_cast<char *>(head->secret), secret_bytes);
    head->look_socket = look_socket;
    head->records = sizeof(ArenaHead);
    head->node_records = head->records + head->ranks * sizeof(RankRecord);
    head->bytes = head->node_records + head->nodes * sizeof(NodeRecord);
    bool whole = append(file, *head);
    const auto record = std::make_unique<RankRecord>();
    for (const std::int32_t node : layout.node_of) {
        record->node = node;
        whole = whole && append(file, *record);
    }
    for (const std::string &host : hosts) {
        const auto node = std::make_unique<NodeRecord>();
        host.copy(node->host, host_name_bytes - 1);
        whole = whole && append(file, *node);
    }
    return whole ? std::move(file) : Descriptor();
}

} // namespace volley::launch
