// SPDX-License-Identifier: BSD-3-Clause
/// How two groups of processes, of one job or of two, get an intercommunicator (MPI 5.0, section 11.10).
///
/// One process of each group, the root, has a socket to the other's. What is said on it:
///
///     both       an Offer, and a ProcessDescription of each member of the group. The accepting root has drawn the
///                context. From the keys in both offers follows the secret of the connection
///                (boot/proof/key_exchange.h)
///     both       one byte, once all members of the group know those of the other
///
/// From then on members connect to each other as they do within a job (transport/tcp/), and prove to know that secret.
#pragma once

#include "core/communicator.h"
#include "dynamic/link.h"

#include <functional>

namespace volley {

/// A link to the other root, and which of the two accepts.
struct Meeting {
    Link link;
    bool accepts = false;
};

/// Collective over `comm`, an intracommunicator. `meet` is called at the root; it makes the link, or returns an error
/// code. All members return an error of the same class.
int connect_groups(Communicator &comm, int root, const std::function<int(Meeting &)> &meet, Communicator *&made);

/// An error code if `root` is no rank of `comm`.
int check_root(int root, const Communicator &comm);

} // namespace volley
