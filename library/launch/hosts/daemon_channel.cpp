// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/daemon_channel.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "boot/addresses.h"
#include "boot/error.h"

namespace volley::launch {
namespace {

/// How long what is to be said at the end may take.
constexpr int longest_goodbye_ms = 5000;

} // namespace

Channel take_standard_streams() {
    Channel channel(Descriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)),
                    Descriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)), "");
    const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    dup2(nothing.get(), STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return channel;
}

HelloMessage own_hello() {
    utsname names = {};
    uname(&names);
    return {VOLLEY_VERSION, names.machine, names.nodename, own_addresses()};
}

Frame await(Channel &channel, FrameKind kind, const std::function<void(const Frame &)> &take) {
    while (true) {
        while (auto frame = channel.next()) {
            take(*frame);
            if (frame->kind == kind) return std::move(*frame);
            if (frame->kind == FrameKind::end || frame->kind == FrameKind::signal) throw NotWanted();
        }
        if (channel.closed()) throw NotWanted();
        std::vector<pollfd> watched;
        channel.watch(watched);
        poll(watched.data(), watched.size(), -1);
        channel.advance();
    }
}

void say_all(Channel &channel) {
    while (channel.pending() > 0 && !channel.closed()) {
        std::vector<pollfd> watched;
        channel.watch(watched);
        if (poll(watched.data(), watched.size(), longest_goodbye_ms) <= 0) return;
        channel.advance();
    }
}

void require_equal(const std::string &host, const HelloMessage &hello, const std::string &first_host,
                   const HelloMessage &first) {
    if (hello.version != VOLLEY_VERSION)
        throw Error("host " + host + " has Volley " + hello.version +
                    ", but this is " VOLLEY_VERSION ": install the same version on all hosts, and if node daemons were "
                    "left running there, end them (volley halt)");
    if (hello.machine != first.machine)
        throw Error("host " + host + " is a machine of kind " + hello.machine + ", but host " + first_host +
                    " one of kind " + first.machine + ": all hosts of a job must be of one kind");
}

} // namespace volley::launch
