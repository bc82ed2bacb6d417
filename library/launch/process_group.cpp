// SPDX-License-Identifier: BSD-3-Clause
#include "launch/process_group.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>

#include "boot/error.h"
#include "launch/machine.h"

namespace volley::launch {
namespace {

constexpr std::size_t stack_bytes = 16 * 1024;
alignas(16) char anchor_stack[stack_bytes];

/// Processes that do not die of SIGKILL hang in the kernel; waiting longer would not help.
constexpr std::chrono::milliseconds wait_policy{500};

/// In memory shared with mpiexec, which waits meanwhile: no C library.
int become_leader(void *) {
    raw_system_call(SYS_setpgid, 0, 0);
    while (true) raw_system_call(SYS_exit_group, 0);
}

} // namespace

std::vector<pid_t> own_children() {
    const std::string self = std::to_string(getpid());
    std::ifstream file("/proc/self/task/" + self + "/children");
    std::vector<pid_t> children;
    for (pid_t child = 0; file >> child;) children.push_back(child);
    return children;
}

void end_children() {
    const auto deadline = std::chrono::steady_clock::now() + wait_policy;
    while (true) {
        const pid_t ended = waitpid(-1, nullptr, WNOHANG);
        if (ended < 0) return; // none is left
        if (ended > 0) continue;
        // Children of children become ours once their parents are gone: again until there are none.
        for (const pid_t child : own_children()) kill(child, SIGKILL);
        if (std::chrono::steady_clock::now() > deadline) return;
        usleep(200);
    }
}

ProcessGroup::ProcessGroup() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    // The leader ends at once and stays a zombie. Without SIGCHLD as its exit signal, the waits for ranks,
    // which are not for "clone children", pass over it.
    id_ = clone(become_leader, anchor_stack + stack_bytes, CLONE_VM | CLONE_VFORK, nullptr);
    if (id_ < 0) throw system_error("cannot make a process group for the ranks");
}

ProcessGroup::~ProcessGroup() {
    end_all(id_);
    waitpid(id_, nullptr, static_cast<int>(__WCLONE));
}

void ProcessGroup::signal(int number) const {
    kill(-id_, number);
}

void ProcessGroup::end_all(pid_t group) {
    kill(-group, SIGKILL);
    end_children(); // but for the leader
}

} // namespace volley::launch
