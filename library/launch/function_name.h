// SPDX-License-Identifier: BSD-3-Clause
/// What the numbers of functions in a rank's Activity mean.
#pragma once

#include <cstdint>
#include <string>

namespace volley::launch {

/// The name of a function of the table, for messages.
inline std::string function_name(std::uint32_t function) {
    return "MPI function " + std::to_string(function);
}

} // namespace volley::launch
