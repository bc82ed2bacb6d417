// SPDX-License-Identifier: BSD-3-Clause
/// Running the ranks of this host, from start to end.
#pragma once

#include <sys/resource.h>

#include <vector>

#include "boot/arena.h"
#include "launch/further_jobs.h"
#include "launch/hosts/channel.h"
#include "launch/hosts/look_desk.h"
#include "launch/hosts/recovery_desk.h"
#include "launch/hosts/relay_process.h"
#include "launch/hosts/silence.h"
#include "launch/input.h"
#include "launch/output.h"
#include "launch/plan.h"
#include "launch/signals.h"

namespace volley::launch {

/// Two pipes for each rank need many descriptors: raises the limit as far as it goes. Ranks get back what was before,
/// which is returned.
rlimit raise_open_files();

/// Whether a job can outlive ranks that fail: with the others, more than ranks stands between two of them.
constexpr bool can_recover(Transport transport) {
    return transport == Transport::shm || transport == Transport::tcp;
}

/// What the ranks of a node daemon's host are connected to, besides input and output.
struct NodeConnection {
    Channel *channel = nullptr;       ///< to mpiexec; nullptr: this is mpiexec, and has all ranks
    bool beats = false;               ///< mpiexec says now and then that it is there
    Silence silence = {};             ///< of mpiexec, when it does not
    FurtherJobs *further = nullptr;   ///< that ranks ask for; nullptr: they cannot
    RelayProcess *relay = nullptr;    ///< of messages; nullptr: ranks send them straight to each other
    RecoveryDesk *desk = nullptr;     ///< where ranks ask for help with recovery; nullptr: nowhere
    LookDesk *looks = nullptr;        ///< where tools ask for the ranks of other hosts; nullptr: nowhere
    std::vector<Listeners> listeners; ///< by rank; empty: none has any
};

/// Starts the ranks and stays until the last has ended. Returns mpiexec's exit status. Throws Error.
int run_ranks(const Plan &plan, Arena &arena, const Signals &signals, const rlimit &open_files, Input &input,
              Output &output, NodeConnection connection = {});

} // namespace volley::launch
