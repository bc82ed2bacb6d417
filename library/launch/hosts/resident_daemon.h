// SPDX-License-Identifier: BSD-3-Clause
/// A daemon that `volley boot` leaves running on each host, so that jobs start there without ssh.
///
/// It listens at one address of its host. Whoever connects must know the secret of the set (booted_set.h), and all that
/// is said is sealed. For each job it forks a node daemon (node_daemon.h), whose channel is the connection from
/// mpiexec; it has no part in the job then.
///
/// It outlives the terminal it was started from. It ends when it is told to (`volley halt`, SIGTERM), or when its file
/// in the state directory is removed or replaced: nobody could reach it any more. What jobs have left ends with it.
#pragma once

namespace volley::launch {

/// The option with which mpiexec is such a daemon.
inline constexpr const char *resident_daemon_option = "--resident-daemon";

/// Standard input and output are the channel to `volley boot`. Returns the exit status of the process that this began
/// in; the daemon is another one by then.
int run_resident_daemon();

} // namespace volley::launch
