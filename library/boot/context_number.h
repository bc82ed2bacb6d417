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
// Between the traffic, in the lowest bits, and the generation, in the highest, is an index.
inline constexpr int context_index_bits = 20, context_generation_bits = 32 - context_index_bits - traffic_bits;
inline constexpr std::uint32_t context_generations = 1U << context_generation_bits;

constexpr std::uint32_t index_of_context(std::uint32_t context) {
    return context >> traffic_bits & ((1U << context_index_bits) - 1);
}
constexpr std::uint32_t generation_of_context(std::uint32_t context) {
    return context >> (traffic_bits + context_index_bits);
}
/// The context of the program's messages on the same communicator, which is the communicator's number.
constexpr std::uint32_t communicator_of(std::uint32_t context) {
    return context - static_cast<std::uint32_t>(traffic_of(context));
}

} // namespace volley
