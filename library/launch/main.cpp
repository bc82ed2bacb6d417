// SPDX-License-Identifier: BSD-3-Clause
/// mpiexec: starts the ranks of a job on this machine and stays until the last has ended.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "boot/arena.h"
#include "boot/error.h"
#include "boot/settings.h"
#include "launch/command_line.h"
#include "launch/plan.h"
#include "launch/process.h"
#include "launch/rank_host.h"
#include "launch/supervisor.h"

namespace {

using namespace volley;
using namespace volley::launch;

/// Started without standard streams, mpiexec would take its own files for them.
void open_standard_streams() {
    int descriptor = 0;
    do descriptor = open("/dev/null", O_RDWR);
    while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor >= 0) close(descriptor);
}

/// Two pipes for each rank need many; ranks get back what mpiexec had, which is returned.
rlimit raise_open_files() {
    rlimit original = {};
    getrlimit(RLIMIT_NOFILE, &original);
    rlimit raised = original;
    raised.rlim_cur = raised.rlim_max;
    setrlimit(RLIMIT_NOFILE, &raised);
    return original;
}

int run(const Plan &plan, bool label) {
    RankStart common = {};
    common.open_files = raise_open_files();
    Arena arena(plan.ranks());
    Input input;
    Output output(plan.ranks(), label);
    const Signals signals;
    const ProcessGroup group;
    common.launcher = getpid();
    common.group = group.id();
    common.signal_mask = signals.original_mask();

    std::vector<StandardStreams> streams;
    for (int rank = 0; rank < plan.ranks(); ++rank)
        streams.push_back({input.rank_end(rank), output.output_of(rank), output.error_of(rank)});
    std::vector<pid_t> hosts;
    for (std::uint32_t space = 1; space <= plan.spaces.size(); ++space)
        hosts.push_back(start_rank_host(plan, arena, space, common, streams));
    for (int rank = 0; rank < plan.ranks(); ++rank)
        if (!plan.of_rank(rank).shared)
            start_process(plan, arena, rank, common, streams[static_cast<std::size_t>(rank)]);
    input.ranks_started();
    output.ranks_started();
    return Supervisor(plan, arena, signals, group, input, output, std::move(hosts)).run();
}

} // namespace

int main(int count, char **arguments) {
    try {
        open_standard_streams();
        const CommandLine line = read_command_line({arguments + 1, arguments + count});
        if (line.help) {
            std::fputs(help_text(), stdout);
            return 0;
        }
        if (line.version) {
            std::puts("mpiexec (Volley) " VOLLEY_VERSION ", MPI 5.0 standard ABI");
            return 0;
        }
        // mpiexec takes the settings of all ranks too, so that an error in them is reported once, not by each rank.
        for (const auto &[name, value] : line.environment)
            if (name.starts_with("VOLLEY_")) setenv(name.c_str(), value.c_str(), 1);
        const Settings settings = read_settings();
        if (line.settings) {
            std::fputs(settings.text(line.kind != RankKind::process).c_str(), stdout);
            return 0;
        }
        const Plan plan = make_plan(line);
        if (line.verbose) std::fputs(describe(plan).c_str(), stderr);
        return run(plan, line.label);
    } catch (const Error &error) {
        std::fprintf(stderr, "mpiexec: %s\n", error.what());
        return static_cast<int>(error.status());
    } catch (const std::exception &error) {
        std::fprintf(stderr, "mpiexec: %s\n", error.what());
        return static_cast<int>(ExitStatus::failure);
    }
}
