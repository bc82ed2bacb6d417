// SPDX-License-Identifier: BSD-3-Clause
/// How ranks that a foreign launcher has started on one or several hosts find each other.
///
/// The first rank of each host speaks for it; there are as many publishers as hosts, and each publishes two texts:
///
///     each first rank  its host's card (boot/foreign/host_card.h)
///     all              fence
///     others           check their host's card, and go to its first rank (boot/foreign/host_sharing.h)
///     each first rank  reads all cards, chooses addresses, listens for each rank of its host, publishes the ports
///     rank 0           publishes the job's secret, sealed for each host
///     all              fence
///     each first rank  reads the rest, makes its host's arena, hands it and the sockets out
///
/// On one host the second fence and what is published for it are left out. From then on all is as if mpiexec's node
/// daemons had started the ranks.
///
/// Who may use the launcher's space of keys is trusted: another member of the job could be told anything. But launchers
/// send what is in there over the network as it is, so the secret, by which connections prove who they are
/// (boot/proof/handshake.h), is in there only for those who have a host's private key. Whoever listens to the network
/// learns nothing; whoever changes the launcher's own messages can take a host's part, and could as well start
/// programs.
#pragma once

#include "boot/foreign/launcher.h"
#include "boot/join.h"

namespace volley {

/// Throws Error.
JobPlace join_foreign(ForeignLauncher &launcher);

} // namespace volley
