// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/agent.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "boot/addresses.h"
#include "boot/error.h"
#include "launch/ending.h"
#include "launch/hosts/messages.h"

extern char **environ;

namespace volley::launch {
namespace {

/// For the end of a process whose output has ended.
constexpr int looks_for_end = 100;
constexpr useconds_t between_looks_us = 10'000;

std::string own_path() {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0) throw system_error("cannot find this program's own path (/proc/self/exe)");
    return {path, static_cast<std::size_t>(length)};
}

/// A pipe; the first end is read from.
struct Pipe {
    Descriptor from, to;
    Pipe() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot make a pipe to a node daemon");
        from = Descriptor(ends[0]);
        to = Descriptor(ends[1]);
    }
};

/// What a new process is started with.
class SpawnPlan {
  public:
    SpawnPlan(int input, int output, std::uint64_t mask) {
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
        posix_spawnattr_init(&attributes_);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
        sigset_t signals;
        sigemptyset(&signals);
        std::memcpy(&signals, &mask, sizeof mask);
        posix_spawnattr_setsigmask(&attributes_, &signals);
    }
    SpawnPlan(const SpawnPlan &) = delete;
    SpawnPlan &operator=(const SpawnPlan &) = delete;
    ~SpawnPlan() {
        posix_spawn_file_actions_destroy(&actions_);
        posix_spawnattr_destroy(&attributes_);
    }
    pid_t start(std::vector<std::string> command) const {
        std::vector<char *> arguments;
        for (std::string &word : command) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        pid_t process = 0;
        if (const int reason = posix_spawnp(&process, arguments[0], &actions_, &attributes_, arguments.data(), environ))
            throw system_error("cannot start " + command[0], reason);
        return process;
    }

  private:
    posix_spawn_file_actions_t actions_;
    posix_spawnattr_t attributes_;
};

} // namespace

bool is_this_host(const std::string &name) {
    const std::string own = own_host_name();
    return name == own || name == "localhost" || name == "127.0.0.1" || name == "::1" ||
           name == own.substr(0, own.find('.'));
}

std::vector<std::string> Agent::command(const std::string &host, const std::string &option) const {
    std::vector<std::string> command = words;
    if (!command.empty()) {
        command.push_back(host);
    } else if (std::getenv("SLURM_JOB_ID") != nullptr) {
        // --overlap: the step shares the allocation's processors with others, such as a script's own. --unbuffered:
        // without it Slurm passes on whole lines only, and frames (channel.h) are none.
        command = {"srun",       "--overlap",          "--unbuffered", "--nodes=1",
                   "--ntasks=1", "--nodelist=" + host, "--export=ALL", "--mpi=none"};
    } else {
        // Nobody could answer a question: the agent has no terminal.
        command = {"ssh", "-o", "BatchMode=yes", host};
    }
    command.push_back(own_path());
    command.push_back(option);
    return command;
}

StartedDaemon start_daemon(const std::string &host, const Agent &agent, const std::string &option,
                           std::uint64_t signal_mask) {
    std::vector<std::string> command;
    if (is_this_host(host))
        command = {own_path(), option};
    else
        command = agent.command(host, option);
    std::string text;
    for (const std::string &word : command) text += (text.empty() ? "" : " ") + word;
    Pipe input, output;
    const pid_t process = SpawnPlan(input.from.get(), output.to.get(), signal_mask).start(std::move(command));
    return {process, Channel(std::move(output.from), std::move(input.to), greeting), text};
}

std::string how_ended(const StartedDaemon &daemon) {
    if (daemon.process == 0) return "its part of the job has ended there (volley clean, volley halt, or a signal)";
    int wait_status = 0;
    pid_t ended = 0;
    for (int look = 0; look < looks_for_end && ended == 0; look++) {
        ended = waitpid(daemon.process, &wait_status, WNOHANG);
        if (ended == 0) usleep(between_looks_us);
    }
    std::string text = "`" + daemon.command + "` ";
    if (ended != daemon.process)
        text += "has closed its output";
    else
        text += "ended with status " + std::to_string(shell_status(wait_status));
    if (!daemon.channel.noise().empty()) text += " and said: " + daemon.channel.noise();
    constexpr int not_found = 127;
    if (ended == daemon.process && shell_status(wait_status) == not_found)
        text += " (Volley must be installed at the same path on every host)";
    return text;
}

} // namespace volley::launch
