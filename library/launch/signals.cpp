// SPDX-License-Identifier: BSD-3-Clause
#include "launch/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cstring>

#include "boot/error.h"

namespace volley::launch {
namespace {

constexpr int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

bool is_ignored(int number) {
    struct sigaction action = {};
    return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

} // namespace

Signals::Signals() {
    signal(SIGCHLD, SIG_DFL); // ignored, it would have the kernel reap ranks unseen
    sigset_t read = {};
    sigemptyset(&read);
    sigaddset(&read, SIGCHLD);
    sigaddset(&read, view_signal);
    for (const int number : passed_on)
        if (!is_ignored(number)) sigaddset(&read, number);
    sigset_t blocked = read;
    sigaddset(&blocked, SIGPIPE);
    if (sigprocmask(SIG_BLOCK, &blocked, &original_) != 0) throw system_error("cannot block signals");
    file_ = Descriptor(signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!file_) throw system_error("cannot read signals (signalfd)");
}

std::optional<int> Signals::take() const {
    signalfd_siginfo facts = {};
    if (read(file_.get(), &facts, sizeof(facts)) != sizeof(facts)) return std::nullopt;
    return static_cast<int>(facts.ssi_signo);
}

std::uint64_t Signals::original_mask() const {
    std::uint64_t mask = 0;
    std::memcpy(&mask, &original_, sizeof(mask)); // the kernel's set is the start of the C library's
    return mask;
}

void Signals::restore() const {
    sigprocmask(SIG_SETMASK, &original_, nullptr);
}

bool asks_to_end(int number) {
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

const char *signal_name(int number) {
    struct Name {
        int number;
        const char *name;
    };
    static constexpr Name names[] = {
        {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"},
        {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"},
        {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"}, {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
        {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},
    };
    for (const Name &name : names)
        if (name.number == number) return name.name;
    return "a signal without a name";
}

} // namespace volley::launch
