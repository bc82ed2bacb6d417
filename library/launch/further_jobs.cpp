// SPDX-License-Identifier: BSD-3-Clause
#include "launch/further_jobs.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "boot/error.h"

namespace volley::launch {
namespace {

std::vector<char *> pointers(std::vector<std::string> &texts) {
    std::vector<char *> all;
    for (std::string &text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
}

} // namespace

FurtherJobs::FurtherJobs(const Arena &arena, const Signals &signals, std::vector<std::string> options)
    : arena_(arena), signals_(signals), options_(std::move(options)), listener_(listen_as_launcher(number_)) {}

void FurtherJobs::watch(std::vector<pollfd> &watched) const {
    watched.push_back({listener_.get(), POLLIN, 0});
}

void FurtherJobs::advance() {
    while (true) {
        const Descriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!connection) return;
        if (const auto request = receive_request(connection, *arena_.head())) start(*request, connection);
    }
}

void FurtherJobs::start(const NewJobRequest &request, const Descriptor &connection) {
    std::vector<std::string> words = {"mpiexec"};
    words.insert(words.end(), options_.begin(), options_.end());
    words.insert(words.end(), request.words.begin(), request.words.end());
    std::vector<std::string> variables;
    for (char **entry = environ; *entry != nullptr; entry++)
        if (!is_of_new_job(*entry)) variables.emplace_back(*entry);
    variables.push_back(std::string(environment::parent) + "=" + request.port);
    variables.push_back(std::string(environment::report) + "=" + std::to_string(connection.get()));
    const std::vector<char *> arguments = pointers(words), variable_pointers = pointers(variables);
    const pid_t own = getpid();
    const pid_t child = fork();
    if (child > 0) running_.push_back(child);
    if (child != 0) return; // without a child the rank sees that the connection is closed
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != own) _exit(static_cast<int>(ExitStatus::failure));
    setpgid(0, 0); // what a terminal sends comes once, from this mpiexec
    signals_.restore();
    fcntl(connection.get(), F_SETFD, 0);
    const int empty = open("/dev/null", O_RDONLY);
    if (empty >= 0) dup2(empty, STDIN_FILENO);
    execve("/proc/self/exe", arguments.data(), variable_pointers.data());
    _exit(static_cast<int>(ExitStatus::not_executable));
}

bool FurtherJobs::ended(pid_t process) {
    return std::erase(running_, process) > 0;
}

void FurtherJobs::signal(int number) const {
    for (const pid_t process : running_) kill(process, number);
}

Descriptor begin_further_job() {
    const char *number = std::getenv(environment::report);
    if (number == nullptr) return {};
    Descriptor report(std::atoi(number));
    unsetenv(environment::report);
    fcntl(report.get(), F_SETFD, FD_CLOEXEC);
    return report;
}

} // namespace volley::launch
