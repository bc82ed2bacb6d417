// SPDX-License-Identifier: BSD-3-Clause
/// Which MPI a program is linked with: another one's ranks would each be a world of one, and say nothing of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace volley::launch {

struct LinkedMpi {
    std::string library;  ///< its name in the program, such as "libmpi.so.40"
    std::string mpi;      ///< "Open MPI"
    std::string launcher; ///< "Open MPI's mpirun"
    std::string through;  ///< the path of the library that needs it; empty: the program itself
};

/// Follows what the program at `path` needs, and what that needs, as the dynamic linker would with this environment as
/// far as that can be told cheaply (not through its cache). Nothing if no other MPI is among it, or this one is as
/// well, and for what is no ELF file of this machine.
std::optional<LinkedMpi> find_other_mpi(const std::string &path, const std::vector<std::string> &environment);

} // namespace volley::launch
