// SPDX-License-Identifier: BSD-3-Clause
#include "dynamic/new_job.h"

#include "boot/error.h"
#include "boot/new_job_request.h"
#include "transport/node.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace volley {
namespace {

/// The mpiexec that is installed with this library.
std::string find_mpiexec() {
    Dl_info facts = {};
    if (dladdr(reinterpret_cast<void *>(&find_mpiexec), &facts) == 0 || facts.dli_fname == nullptr)
        throw Error("it is not known where this library lies, so neither is where its mpiexec does");
    const std::filesystem::path library = std::filesystem::weakly_canonical(facts.dli_fname);
    for (auto folder = library.parent_path(); folder != folder.parent_path(); folder = folder.parent_path())
        if (const auto path = folder / "bin" / "mpiexec"; access(path.c_str(), X_OK) == 0) return path;
    throw Error("there is no mpiexec beside " + library.string() +
                ", and no other launcher of this library has started the program");
}

/// As a child of this process. A further process in between lets go of it at once, so that nobody has to wait for it.
void start_as_child(const NewJobRequest &request, const Descriptor &socket) {
    std::string program = find_mpiexec(), number = std::to_string(socket.get());
    std::vector<std::string> words = {program};
    words.insert(words.end(), request.words.begin(), request.words.end());
    std::vector<std::string> variables = {std::string(environment::parent) + "=" + request.port,
                                          std::string(environment::report) + "=" + number};
    for (char **entry = environ; *entry != nullptr; entry++)
        if (!is_of_new_job(*entry)) variables.emplace_back(*entry);
    const auto pointers = [](std::vector<std::string> &texts) {
        std::vector<char *> all;
        for (std::string &text : texts) all.push_back(text.data());
        all.push_back(nullptr);
        return all;
    };
    const std::vector<char *> arguments = pointers(words), variable_pointers = pointers(variables);
    const pid_t child = fork();
    if (child < 0) throw system_error("cannot start " + program);
    if (child == 0) {
        if (fork() != 0) _exit(0);
        setpgid(0, 0);
        fcntl(socket.get(), F_SETFD, 0);
        const int empty = open("/dev/null", O_RDONLY);
        if (empty >= 0) dup2(empty, STDIN_FILENO);
        execve(program.c_str(), arguments.data(), variable_pointers.data());
        _exit(static_cast<int>(ExitStatus::not_executable));
    }
    waitpid(child, nullptr, 0);
}

} // namespace

NewJob::NewJob(const std::vector<std::string> &words, const std::string &port, std::uint32_t launcher) {
    const NewJobRequest request{words, port};
    if (launcher != 0) {
        socket_ = connect_to_launcher(launcher);
        if (!send_request(socket_, *node.arena, request)) throw system_error("mpiexec does not take the request");
        return;
    }
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw system_error("cannot make a socket");
    socket_ = Descriptor(ends[0]);
    start_as_child(request, Descriptor(ends[1]));
}

bool NewJob::has_ended() {
    char text[512];
    while (true) {
        const ssize_t got = recv(socket_.get(), text, sizeof text, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
        if (got <= 0) return true;
        reason_.append(text, static_cast<std::size_t>(got));
    }
}

} // namespace volley
