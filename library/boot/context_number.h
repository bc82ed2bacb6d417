// SPDX-License-Identifier: BSD-3-Clause
/// How a context number is made up (core/contexts.h), for the library and for tools that read what ranks publish.
#pragma once

#include <cstddef>
#include <cstdint>

namespace volley {

/// Whose messages: those of the program, of the library's collectives, or of partitioned communication, which has one
/// context to set up its channels and another for their data (core/partitioned.h). The value is in a context's lowest
/// bits.
enum class Traffic : std::uint32_t { program = 0, collective = 1, partitioned_setup = 2, partitioned = 3 };

inline constexpr int traffic_bits = 2;
inline constexpr std::size_t traffic_kinds = std::size_t{1} << traffic_bits;

constexpr Traffic traffic_of(std::uint32_t context) {
    return static_cast<Traffic>(context % traffic_kinds);
}
/// The context of the program's messages on the same communicator, which is the communicator's number.
constexpr std::uint32_t communicator_of(std::uint32_t context) {
    return context - static_cast<std::uint32_t>(traffic_of(context));
}

} // namespace volley
