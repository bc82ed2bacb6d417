// SPDX-License-Identifier: BSD-3-Clause
/// What the user asked for.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/hosts/host_list.h"

namespace volley::launch {

enum class RankKind { automatic, shared, process };

/// Whether ranks are bound to processors; automatic: where there are enough.
enum class Binding { automatic, core, none };

/// One program of the job; several are separated by ":".
struct Application {
    int ranks = 1;
    bool ranks_given = false;           ///< by -n
    std::vector<std::string> locations; ///< LAM's words for where it runs (launch/hosts/locations.h)
    std::string program;
    std::vector<std::string> arguments;                           ///< with argument 0, the program as typed
    std::string directory;                                        ///< empty: where mpiexec runs
    std::vector<std::pair<std::string, std::string>> environment; ///< set for this program
};

struct CommandLine {
    std::vector<Application> applications;
    /// Whether it names hosts, or nodes of `volley boot`.
    [[nodiscard]] bool is_for_hosts() const;
    std::vector<std::pair<std::string, std::string>> environment; ///< set for all programs
    /// The names of mpiexec's own environment that are passed on; all of them if there is no list.
    std::optional<std::vector<std::string>> inherited;
    RankKind kind = RankKind::automatic;
    Binding binding = Binding::automatic;
    std::vector<Host> hosts; ///< empty: this one
    Mapping mapping = Mapping::slot;
    int ranks_per_host = 0;                 ///< of the slots; 0: as `hosts` says
    std::vector<std::string> agent;         ///< its words (launch/hosts/agent.h); empty: chosen
    std::string interface;                  ///< between hosts, as choose_addresses() takes it
    bool preload = false;                   ///< bring programs to other hosts, and
    std::vector<std::string> preload_files; ///< these files
    bool label = false;
    bool verbose = false;
    bool version = false;                ///< print the version and end
    bool settings = false;               ///< print the settings of ranks and end
    bool check = false;                  ///< look at the program and end
    bool help = false;                   ///< print the help and end
    bool quiet = false;                  ///< say nothing of what was not needed
    bool recovery = false;               ///< the job outlives ranks that fail
    int timeout_seconds = 0;             ///< the job ends after them; 0: never
    int universe_size = 0;               ///< MPI_UNIVERSE_SIZE; 0: the slots of all hosts, or this one's processors
    std::vector<std::string> not_needed; ///< options of other launchers that mean nothing here

    /// Of all programs.
    [[nodiscard]] int ranks() const;
};

/// Reads the arguments, without that of the command itself. Throws Error. Files that name hosts are only on the host
/// where mpiexec runs: elsewhere they are not read.
CommandLine read_command_line(const std::vector<std::string> &arguments, bool is_elsewhere = false);

/// Sets VOLLEY_ variables of all programs in this process, too: so an error in them is reported once, not by each rank.
void export_settings(const CommandLine &line);

/// The text of --help.
const char *help_text();

} // namespace volley::launch
