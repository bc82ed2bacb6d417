// SPDX-License-Identifier: BSD-3-Clause
/// What all functions that make communicators share.
#pragma once

#include "core/communicator.h"

namespace volley {

/// Returns the user's handle of a communicator made from `parent`, after it has inherited the parent's error handler
/// and session. MPI_COMM_NULL if `made` is nullptr: this process is not in the new communicator.
MPI_Comm hand_out(const Communicator &parent, Communicator *made, const Info *hints = nullptr);

} // namespace volley
