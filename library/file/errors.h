// SPDX-License-Identifier: BSD-3-Clause
/// What the system says about files, as error codes of MPI (MPI 5.0, section 14.7).
#pragma once

#include "core/communicator.h"
#include "layout/checked.h"

#include <string>

namespace volley {

/// The code for a value of errno. `doing` is what could not be done: "cannot be opened".
[[nodiscard]] int file_error(int number, const std::string &name, const char *doing);

/// Collective: MPI_SUCCESS if no rank has failed. A rank that has not failed gets the class of one that has.
[[nodiscard]] int agree(Communicator &communicator, int code, const char *what);
/// The same, and MPI_ERR_NOT_SAME if `value` is not the same on all ranks; `what` names it.
[[nodiscard]] int agree_on(Communicator &communicator, int code, Count value, const char *what);

} // namespace volley
