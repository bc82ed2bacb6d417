// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/relay_process.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "boot/error.h"
#include "boot/foreign/host_socket.h"
#include "boot/proof/handshake.h"
#include "launch/hosts/relay.h"

namespace volley::launch {
namespace {

constexpr std::size_t longest_note = 1024;

/// So that this process keeps nothing open of what the launcher has: its channel, sockets of ranks, pipes.
void close_all_but(const std::vector<int> &kept) {
    DIR *folder = opendir("/proc/self/fd");
    if (folder == nullptr) return;
    std::vector<int> closed;
    while (const dirent *entry = readdir(folder)) {
        const int descriptor = std::atoi(entry->d_name);
        if (descriptor > STDERR_FILENO && descriptor != dirfd(folder) && std::ranges::count(kept, descriptor) == 0)
            closed.push_back(descriptor);
    }
    closedir(folder);
    for (const int descriptor : closed) close(descriptor);
}

[[noreturn]] void be_relay(const Arena &arena, std::vector<Descriptor> listeners, Descriptor local,
                           const Descriptor &orders, pid_t launcher) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) _exit(static_cast<int>(ExitStatus::failure)); // it had ended before
    prctl(PR_SET_NAME, "volley-relay");
    std::vector<int> kept = {local.get(), orders.get()};
    for (const Descriptor &listener : listeners) kept.push_back(listener.get());
    close_all_but(kept);
    try {
        Relay(arena, std::move(listeners), std::move(local), orders).run();
        _exit(static_cast<int>(ExitStatus::success));
    } catch (const std::exception &error) {
        say_to_launcher(orders, RelayWord::reason, error.what());
        _exit(static_cast<int>(ExitStatus::failure));
    }
}

} // namespace

RelayProcess::RelayProcess(const Arena &arena, std::vector<Descriptor> listeners) {
    require_proofs();
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        throw system_error("cannot make a socket to the process that carries messages");
    orders_ = Descriptor(ends[0]);
    std::uint32_t number = 0;
    Descriptor local = listen_on_host("where ranks hand in messages", number);
    const std::int32_t own = arena.head()->node;
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(arena.head()->nodes); node++)
        if (own < 0 || own == node) arena.node(node).relay_socket = number;
    Descriptor its_end(ends[1]);
    const pid_t launcher = getpid();
    process_ = fork();
    if (process_ < 0)
        throw system_error("cannot start the process that carries messages (is the limit of processes, ulimit -u, "
                           "too low?)");
    if (process_ == 0) be_relay(arena, std::move(listeners), std::move(local), its_end, launcher);
}

RelayProcess::~RelayProcess() {
    if (!is_running()) return;
    kill();
    waitpid(process_, nullptr, 0);
}

void RelayProcess::watch(std::vector<pollfd> &watched) const {
    if (is_running()) watched.push_back({orders_.get(), POLLIN, 0});
}

std::optional<std::string> RelayProcess::take_note() {
    std::string text(longest_note, '\0');
    for (ssize_t got = 0; (got = recv(orders_.get(), text.data(), text.size(), MSG_DONTWAIT)) > 0;) {
        const std::string said = text.substr(1, static_cast<std::size_t>(got) - 1);
        if (text.front() == static_cast<char>(RelayWord::note)) return said;
        reason_ = said;
    }
    return std::nullopt;
}

void RelayProcess::finish() {
    is_told_to_end_ = true;
    shutdown(orders_.get(), SHUT_WR);
}

void RelayProcess::kill() {
    is_told_to_end_ = true;
    if (is_running()) ::kill(process_, SIGKILL);
}

bool RelayProcess::ended(pid_t process) {
    if (process != process_) return false;
    process_ = 0;
    return true;
}

} // namespace volley::launch
