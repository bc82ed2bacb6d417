// SPDX-License-Identifier: BSD-3-Clause
/// Control variables: the settings that environment variables VOLLEY_* set, under the same names (boot/settings.h).
#pragma once

#include "boot/settings.h"
#include "tool/categories.h"
#include "tool/enumeration.h"

#include <string>
#include <vector>

namespace volley::tool {

struct ControlVariable {
    const char *name; ///< of the environment variable
    Category category;
    int verbosity;
    MPI_Datatype datatype;
    int scope;
    void (*read)(const Settings &settings, void *value);
    /// The value as the environment variable has it; nullptr: only the launcher sets it, for the whole job.
    std::string (*text)(const void *value) = nullptr;
    /// Where it still takes effect once this rank has joined the job.
    void (*change)(const void *value) = nullptr;
    const Enumeration *enumeration = nullptr;
    int count = 1; ///< of elements; of characters with the null character
};

const std::vector<ControlVariable> &control_variables();

} // namespace volley::tool
