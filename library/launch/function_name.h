// SPDX-License-Identifier: BSD-3-Clause
/// What the numbers of functions in a rank's CallStatus mean.
#pragma once

#include "boot/function_names.h"

#include <cstdint>
#include <iterator>
#include <string>

namespace volley::launch {

/// The name of a function of the table, for messages.
inline std::string function_name(std::uint32_t function) {
    if (function < std::size(function_names)) return std::string(function_names[function]);
    return "MPI function " + std::to_string(function);
}

} // namespace volley::launch
