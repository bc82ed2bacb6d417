// SPDX-License-Identifier: BSD-3-Clause
#include "launch/process.h"

#include <sched.h>
#include <sys/wait.h>

#include <csignal>

#include "boot/error.h"

namespace volley::launch {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;
alignas(16) char start_stack[stack_bytes];

std::vector<char *> pointers(const std::vector<std::string> &texts) {
    std::vector<char *> result;
    for (const std::string &text : texts) result.push_back(const_cast<char *>(text.c_str()));
    result.push_back(nullptr);
    return result;
}

/// The new process runs in our memory while we wait, until it has entered the program or failed (`vfork`).
void start(RankStart &how, std::int32_t *process, const std::string &what) {
    how.failed = nullptr;
    const int flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD;
    const pid_t child = clone(start_rank, start_stack + stack_bytes, flags, &how, process);
    if (child < 0) throw system_error("cannot start " + what + " (is the limit of processes, ulimit -u, too low?)");
    if (how.failed != nullptr) waitpid(child, nullptr, 0);
}

} // namespace

void start_process(const Plan &plan, const Arena &arena, int rank, const RankStart &common,
                   const RankStreams &streams) {
    const PlannedApplication &planned = plan.of_rank(rank);
    const std::vector<std::string> variables = rank_environment(plan, arena, rank);
    std::vector<std::string> arguments = planned.application.arguments;
    std::vector<char *> argument_pointers = pointers(arguments);
    const std::vector<char *> variable_pointers = pointers(variables);

    RankStart how = common;
    how.streams = streams;
    bind(how, plan, rank);
    how.directory = planned.application.directory.empty() ? nullptr : planned.application.directory.c_str();
    how.path = planned.program.path.c_str();
    how.arguments = argument_pointers.data();
    how.environment = variable_pointers.data();

    RankRecord &record = arena.record(rank);
    record.placement = Placement::process;
    record.application = plan.application_of[static_cast<std::size_t>(rank)];
    record.state = RankState::started;
    start(how, &record.process, planned.program.path);
    if (how.failed != nullptr && how.failure == ENOEXEC) { // a script without "#!": the shell's, as with execvp
        arguments[0] = planned.program.path;
        arguments.insert(arguments.begin(), "/bin/sh");
        argument_pointers = pointers(arguments);
        how.path = arguments[0].c_str();
        how.arguments = argument_pointers.data();
        start(how, &record.process, planned.program.path);
    }
    if (how.failed == nullptr) return;
    const char *remedy = how.failure == ENOENT ? " (is the interpreter that its first line names missing?)" : "";
    throw Error(planned.program.path + " " + how.failed + ": " + std::strerror(how.failure) + remedy,
                ExitStatus::not_executable);
}

} // namespace volley::launch
