// SPDX-License-Identifier: BSD-3-Clause
/// What functions that make communicators have in common.
#pragma once

#include "core/communicator.h"

namespace volley {

/// In place of the error handler that it has.
void replace_errhandler(Communicator &communicator, Errhandler &errhandler);

/// The handle for the user of a communicator that was made of `parent`, and inherits its error handler and its session;
/// MPI_COMM_NULL for nullptr, where this process is no part of it.
MPI_Comm hand_out(const Communicator &parent, Communicator *made, const Info *hints = nullptr);

} // namespace volley
