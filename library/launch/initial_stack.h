// SPDX-License-Identifier: BSD-3-Clause
/// What a program finds on its stack when it starts: arguments, environment, auxiliary vector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/elf_image.h"

namespace volley::launch {

struct InitialStack {
    std::uintptr_t stack_pointer; ///< of the program's first instruction; points to argc
    std::uintptr_t random;        ///< AT_RANDOM
};

/// A new stack: `bytes` of memory that exists once touched, with a guard below that ends a rank whose stack
/// overflows instead of letting it write into its neighbour. Returns the top. Throws Error.
std::uintptr_t map_stack(std::uint64_t bytes, bool executable);

/// As large as RLIMIT_STACK says, and the strings on top; a fixed size if that is unlimited.
std::uint64_t stack_bytes(std::uint64_t string_bytes);

/// This process's own auxiliary vector, as pairs of type and value: most of it holds for ranks as well.
std::vector<std::pair<std::uint64_t, std::uint64_t>> own_auxiliary_vector();

/// Fills the stack below `top`. `own` are the host's values; those that describe a program are replaced, and
/// the random bytes are fresh.
InitialStack build_initial_stack(std::uintptr_t top, const std::vector<std::string> &arguments,
                                 const std::vector<std::string> &environment, const std::string &path,
                                 const MappedImage &program, std::uint16_t program_header_count,
                                 const MappedImage &interpreter,
                                 const std::vector<std::pair<std::uint64_t, std::uint64_t>> &own);

} // namespace volley::launch
