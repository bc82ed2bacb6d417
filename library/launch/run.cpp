// SPDX-License-Identifier: BSD-3-Clause
#include "launch/run.h"

#include <unistd.h>

#include <chrono>

#include "launch/process.h"
#include "launch/process_group.h"
#include "launch/rank_host.h"
#include "launch/supervisor.h"

namespace volley::launch {

rlimit raise_open_files() {
    rlimit original = {};
    getrlimit(RLIMIT_NOFILE, &original);
    rlimit raised = original;
    raised.rlim_cur = raised.rlim_max;
    setrlimit(RLIMIT_NOFILE, &raised);
    return original;
}

int run_ranks(const Plan &plan, Arena &arena, const Signals &signals, const rlimit &open_files, Input &input,
              Output &output, NodeConnection connection) {
    const ProcessGroup group;
    RankStart common = {};
    common.open_files = open_files;
    common.launcher = getpid();
    common.group = group.id();
    common.signal_mask = signals.original_mask();
    common.listeners = plan.listeners;

    std::vector<RankStreams> streams(static_cast<std::size_t>(plan.ranks()));
    for (const int rank : plan.here) {
        const auto index = static_cast<std::size_t>(rank);
        streams[index] = {input.rank_end(rank), output.output_of(rank), output.error_of(rank),
                          connection.listeners.empty() ? Listeners{} : connection.listeners[index]};
    }
    std::vector<pid_t> hosts;
    for (std::uint32_t space = 1; space <= plan.spaces.size(); ++space)
        hosts.push_back(start_rank_host(plan, arena, space, common, streams));
    for (const int rank : plan.here)
        if (!plan.of_rank(rank).shared)
            start_process(plan, arena, rank, common, streams[static_cast<std::size_t>(rank)]);
    input.ranks_started();
    output.ranks_started();
    Supervisor supervisor(plan, arena, signals, group, input, output, std::move(hosts));
    if (connection.channel != nullptr)
        supervisor.obey(*connection.channel, connection.beats, std::move(connection.silence));
    supervisor.carry(connection.further);
    supervisor.carry(connection.relay);
    supervisor.carry(connection.desk);
    supervisor.carry(connection.looks);
    if (plan.timeout_seconds > 0) supervisor.end_after(std::chrono::seconds(plan.timeout_seconds));
    return supervisor.run();
}

} // namespace volley::launch
