// SPDX-License-Identifier: BSD-3-Clause
/// Starting a node daemon on a host: by this program itself on this host, by an agent on others.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "launch/hosts/channel.h"

namespace volley::launch {

/// How programs are started on another host.
struct Agent {
    /// What `--agent` says, cut at blanks; called as `WORDS HOST COMMAND...`. Empty: srun inside an allocation of
    /// Slurm, ssh otherwise.
    std::vector<std::string> words;

    /// The command that starts this program on `host`, with that option.
    [[nodiscard]] std::vector<std::string> command(const std::string &host, const std::string &option) const;
};

/// Whether a host of that name is this one.
bool is_this_host(const std::string &name);

/// A node daemon that is starting or running.
struct StartedDaemon {
    pid_t process; ///< of the agent, or of the daemon on this host; 0: a resident daemon has started it
    Channel channel;
    std::string command; ///< as a person would type it
};

/// `option` says which daemon. `signal_mask` is that of the new process, in the kernel's form. The process has a
/// session of its own: a Ctrl-C at the terminal is for mpiexec, which passes it on. Throws Error.
StartedDaemon start_daemon(const std::string &host, const Agent &agent, const std::string &option,
                           std::uint64_t signal_mask);

/// Why its channel is closed.
std::string how_ended(const StartedDaemon &daemon);

/// The option with which mpiexec is a node daemon.
inline constexpr const char *node_daemon_option = "--node-daemon";

} // namespace volley::launch
