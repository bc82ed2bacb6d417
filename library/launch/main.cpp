// SPDX-License-Identifier: BSD-3-Clause
/// mpiexec: starts the ranks of a job and stays until the last has ended.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "boot/arena.h"
#include "boot/error.h"
#include "boot/settings.h"
#include "launch/check.h"
#include "launch/command_line.h"
#include "launch/familiar_options.h"
#include "launch/hosts/agent.h"
#include "launch/hosts/coordinator.h"
#include "launch/hosts/node_daemon.h"
#include "launch/plan.h"
#include "launch/run.h"

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

int run(const Plan &plan, bool label) {
    const rlimit open_files = raise_open_files();
    Arena arena(plan.layout);
    Input input;
    Output output(plan.here, plan.ranks(), label);
    const Signals signals;
    return run_ranks(plan, arena, signals, open_files, input, output);
}

} // namespace

int main(int count, char **arguments) {
    try {
        open_standard_streams();
        const std::vector<std::string> words(arguments + 1, arguments + count);
        if (words == std::vector<std::string>{node_daemon_option}) return run_node_daemon();
        const CommandLine line = read_command_line(words);
        if (line.help) {
            std::fputs(help_text(), stdout);
            return 0;
        }
        if (line.version) {
            std::puts("mpiexec (Volley) " VOLLEY_VERSION ", MPI 5.0 standard ABI");
            return 0;
        }
        if (line.check) {
            std::fputs(check_text(line).c_str(), stdout);
            return 0;
        }
        export_settings(line);
        const Settings settings = read_settings();
        if (line.settings) {
            std::fputs(settings.text(line.kind != RankKind::process).c_str(), stdout);
            return 0;
        }
        std::fputs(describe_not_needed(line).c_str(), stderr);
        if (!line.hosts.empty()) return run_on_hosts(line, words);
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
