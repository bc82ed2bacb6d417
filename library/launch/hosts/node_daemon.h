// SPDX-License-Identifier: BSD-3-Clause
/// mpiexec's representative on one host of a job of several: starts the ranks there, and stays until they have ended.
///
/// It ends the ranks and itself as soon as mpiexec is gone, and mpiexec ends the job if a node daemon is gone.
#pragma once

#include "launch/hosts/channel.h"

namespace volley::launch {

/// Standard input and output are the channel to mpiexec. Returns the exit status.
int run_node_daemon();
int run_node_daemon(Channel channel);

} // namespace volley::launch
