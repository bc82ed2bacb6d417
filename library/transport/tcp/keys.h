// SPDX-License-Identifier: BSD-3-Clause
/// How Tcp finds what is ready among its descriptors, and a process's connection.
#pragma once

#include "transport/process.h"

#include <cstddef>
#include <cstdint>

namespace volley {

/// What is ready is found by its key: a kind and a process or descriptor.
enum class Ready : std::uint32_t {
    listener,
    other_listener,
    stranger,
    outgoing,
    incoming,
    ending,
    watched,
    grants,
    word,
    elsewhere
};

/// The place of a process's connection, made if the table of processes has grown.
template <class Connections> auto &place_for(ProcessIndex process, Connections &connections) {
    auto index = static_cast<std::size_t>(process);
    if (index >= connections.size()) connections.resize(index + 1);
    return connections[index];
}

inline std::uint64_t key_of(Ready kind, int number) {
    return static_cast<std::uint64_t>(kind) << 32 | static_cast<std::uint32_t>(number);
}

} // namespace volley
