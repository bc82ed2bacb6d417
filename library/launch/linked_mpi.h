// SPDX-License-Identifier: BSD-3-Clause
/// Which MPI a program is linked with. With another MPI, each rank would silently be a world of its own.
#pragma once

#include <string>
#include <vector>

namespace volley::launch {

struct LinkedMpi {
    std::string library;  ///< its name in the program, such as "libmpi.so.40"
    std::string mpi;      ///< "Open MPI"
    std::string launcher; ///< "Open MPI's mpirun"; empty for this MPI
    std::string through;  ///< the path of the library that needs it; empty: the program itself
    /// A RPATH of the program leads to such a library: the dynamic linker looks there before LD_LIBRARY_PATH.
    bool by_run_path = false;
    bool of_other_language = false; ///< beside which C's library is needed as well
};

/// Follows the libraries that the program at `path` needs, and those they need, as the dynamic linker would with this
/// environment, as far as that is cheap to tell (not through the linker's cache). The MPIs among them, this one
/// included, each once; nothing if the file is no ELF file of this machine. `looked_at` gets the files that were read,
/// the program first.
std::vector<LinkedMpi> find_linked_mpis(const std::string &path, const std::vector<std::string> &environment,
                                        std::vector<std::string> *looked_at = nullptr);

} // namespace volley::launch
