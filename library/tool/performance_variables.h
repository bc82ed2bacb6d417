// SPDX-License-Identifier: BSD-3-Clause
/// Performance variables: what this rank counts anyway. A counter is never reset for all: each handle has its own view
/// of it, which begins with 0 and counts while it is started. Levels, sizes and high-water marks are as they are.
#pragma once

#include "tool/categories.h"
#include "tool/enumeration.h"
#include "transport/process.h"

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace volley {
class Communicator;
}

namespace volley::tool {

struct PerformanceVariable {
    const char *name;
    Category category;
    int verbosity;
    int variable_class;
    MPI_Datatype datatype;
    /// Its value now; `communicator` is what the handle is bound to, nullptr for variables bound to nothing.
    std::uint64_t (*value)(const Communicator *communicator);
    const char *description;
    int bind = MPI_T_BIND_NO_OBJECT;
    const Enumeration *enumeration = nullptr;
    /// Of a variable with an element for each process of the communicator (of an intercommunicator, of the remote
    /// group): that of one; `value` is nullptr then.
    std::uint64_t (*of_peer)(ProcessIndex peer) = nullptr;

    /// Each handle has a view of its own, which can be started, stopped, reset and written.
    bool counts() const {
        return variable_class == MPI_T_PVAR_CLASS_COUNTER || variable_class == MPI_T_PVAR_CLASS_AGGREGATE ||
               variable_class == MPI_T_PVAR_CLASS_TIMER;
    }
};

const std::vector<PerformanceVariable> &performance_variables();

} // namespace volley::tool
