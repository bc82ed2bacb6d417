// SPDX-License-Identifier: BSD-3-Clause
/// Finding a program, and deciding whether its ranks can share an address space.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/command_line.h"
#include "launch/elf_image.h"
#include "launch/linked_mpi.h"

namespace volley::launch {

/// A program as the system would start it.
struct Program {
    std::string path;                      ///< what execve gets
    std::shared_ptr<ElfImage> image;       ///< set if it can be placed in a shared address space
    std::shared_ptr<ElfImage> interpreter; ///< with it
    std::string reason;                    ///< otherwise: why not, as "it is a script"
    std::vector<LinkedMpi> mpis;           ///< the libraries of the MPI that it is linked with, as far as can be seen
};

/// Looks the name up as execvp does, in PATH of `environment`, from `directory` (empty: here), and judges
/// the file. Throws Error if there is no such program or it may not be started.
Program find_program(const std::string &name, const std::string &directory,
                     const std::vector<std::string> &environment);

} // namespace volley::launch
