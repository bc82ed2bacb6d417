// SPDX-License-Identifier: BSD-3-Clause
/// mpiexec: starts the ranks of a job and stays until the last has ended.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "boot/arena.h"
#include "boot/error.h"
#include "boot/settings.h"
#include "boot/sockets.h"
#include "launch/check.h"
#include "launch/command_line.h"
#include "launch/familiar_options.h"
#include "launch/hosts/agent.h"
#include "launch/hosts/boot_commands.h"
#include "launch/hosts/coordinator.h"
#include "launch/hosts/node_daemon.h"
#include "launch/hosts/relay_process.h"
#include "launch/hosts/resident_daemon.h"
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

/// What holds for the jobs that ranks start, too.
std::vector<std::string> options_for_further_jobs(const CommandLine &line) {
    std::vector<std::string> options;
    // A demand that ranks share an address space is about the programs on the command line: others may be scripts.
    if (line.kind == RankKind::process) options.insert(options.end(), {"--ranks", "process"});
    if (line.label) options.emplace_back("--label");
    if (line.recovery) options.emplace_back("--enable-recovery");
    for (const auto &[name, value] : line.environment) options.insert(options.end(), {"-genv", name, value});
    // Process sets are of this job's ranks.
    if (std::getenv("VOLLEY_PROCESS_SETS") != nullptr)
        options.insert(options.end(), {"-genv", "VOLLEY_PROCESS_SETS", ""});
    return options;
}

/// Where the relay of this host, on which all ranks are, takes connections.
std::vector<Descriptor> listen_for_messages(const Arena &arena) {
    std::uint16_t port = 0;
    auto listeners = listen_at(std::vector{loopback_address()}, {}, port);
    for (std::uint32_t node = 0; node < arena.head()->nodes; node++)
        arena.node(static_cast<int>(node)).relay_port = port;
    return listeners;
}

constexpr const char *no_recovery =
    "mpiexec: --enable-recovery has no effect here, as it is for messages by memory and TCP, and for ranks that are "
    "on the hosts they are taken to be on: the job ends with the first rank that fails\n";

int run(Plan plan, const CommandLine &line) {
    const rlimit open_files = raise_open_files();
    Arena arena(plan.layout);
    const bool recovers = arena.head()->nodes == 1 && can_recover(arena.head()->transport);
    if (line.recovery && !recovers) std::fputs(no_recovery, stderr);
    arena.head()->recovery = line.recovery && recovers ? 1 : 0;
    Input input;
    Output output(plan.here, plan.ranks(), line.label);
    const Signals signals;
    std::optional<RelayProcess> relay;
    if (arena.head()->transport == Transport::daemon) relay.emplace(arena, listen_for_messages(arena));
    FurtherJobs further(arena, signals, options_for_further_jobs(line));
    plan.launcher_socket = further.socket();
    return run_ranks(plan, arena, signals, open_files, input, output,
                     {.further = &further, .relay = relay ? &*relay : nullptr, .listeners = {}});
}

} // namespace

namespace {

/// Says why the job could not be started. Whoever has spawned it decides what that means.
int report_error(const Descriptor &report, const std::string &name, const char *text, ExitStatus status) {
    if (report && send(report.get(), text, std::strlen(text), MSG_NOSIGNAL) >= 0)
        return static_cast<int>(ExitStatus::success);
    std::fprintf(stderr, "%s: %s\n", name.c_str(), text);
    return static_cast<int>(status);
}

} // namespace

int main(int count, char **arguments) {
    open_standard_streams();
    const Descriptor report = begin_further_job();
    const std::vector<std::string> words(arguments + 1, arguments + count);
    std::string name = "mpiexec";
    try {
        if (words == std::vector<std::string>{node_daemon_option}) return run_node_daemon();
        if (words == std::vector<std::string>{resident_daemon_option}) return run_resident_daemon();
        if (is_boot_command(words)) {
            name = name_of_boot_command(words);
            return run_boot_command(words);
        }
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
        if (line.is_for_hosts()) {
            if (line.recovery && !can_recover(settings.carrier())) std::fputs(no_recovery, stderr);
            return run_on_hosts(line, words);
        }
        check_process_sets(settings.process_sets, line.ranks());
        const Plan plan = make_plan(line);
        if (line.verbose) std::fputs(describe(plan).c_str(), stderr);
        return run(plan, line);
    } catch (const Error &error) {
        return report_error(report, name, error.what(), error.status());
    } catch (const std::exception &error) {
        return report_error(report, name, error.what(), ExitStatus::failure);
    }
}
