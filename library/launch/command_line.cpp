// SPDX-License-Identifier: BSD-3-Clause
#include "launch/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <span>
#include <sstream>
#include <string_view>

#include "boot/error.h"
#include "boot/settings.h"
#include "launch/familiar_options.h"
#include "launch/hosts/locations.h"

namespace volley::launch {
namespace {

/// More than any machine runs; catches "-n 1e9" and its like before memory does.
constexpr int most_ranks = 1 << 16;

[[noreturn]] void refuse(const std::string &text) {
    throw Error(text + " (see mpiexec --help)", ExitStatus::usage);
}

/// The arguments from left to right, and the values of options.
class Reader {
  public:
    explicit Reader(const std::vector<std::string> &arguments) : arguments_(arguments) {}

    [[nodiscard]] bool done() const {
        return next_ == arguments_.size();
    }
    /// A word, and one more of the same program.
    [[nodiscard]] bool has_two() const {
        return next_ + 1 < arguments_.size() && arguments_[next_ + 1] != ":";
    }
    [[nodiscard]] const std::string &peek() const {
        return arguments_[next_];
    }
    const std::string &take() {
        return arguments_[next_++];
    }
    const std::string &value(const std::string &option, const char *of_what) {
        if (done()) refuse("option " + option + " needs a value: " + of_what);
        return take();
    }

  private:
    const std::vector<std::string> &arguments_;
    std::size_t next_ = 0;
};

int read_ranks(const std::string &option, const std::string &text) {
    int ranks = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
    if (error != std::errc() || end != text.data() + text.size() || ranks < 1 || ranks > most_ranks)
        refuse("option " + option + " has the value '" + text + "': the number of ranks is a whole number from 1 to " +
               std::to_string(most_ranks));
    return ranks;
}

RankKind read_kind(const std::string &text) {
    if (text == "auto") return RankKind::automatic;
    if (text == "shared") return RankKind::shared;
    if (text == "process") return RankKind::process;
    refuse("option --ranks has the value '" + text + "': it is auto, shared or process");
}

Binding read_binding(const std::string &text) {
    if (text == "core") return Binding::core;
    if (text == "none") return Binding::none;
    refuse("option --bind has the value '" + text + "': it is core or none");
}

std::string read_transport(const std::string &text) {
    if (text == "auto" || transport_of(text)) return text;
    refuse("option --transport has the value '" + text + "': it is " + transport_choice());
}

/// What Open MPI maps ranks by within a host; processors are shared out by --bind here.
bool is_mapping_within_host(const std::string &text) {
    const std::string what = text.substr(0, text.find(':'));
    for (const char *known : {"core", "hwthread", "socket", "package", "numa", "l1cache", "l2cache", "l3cache", "ppr"})
        if (what == known) return true;
    return false;
}

Mapping read_mapping(const std::string &text) {
    if (text == "slot") return Mapping::slot;
    if (text == "node") return Mapping::node;
    refuse("option --map-by has the value '" + text + "': it is slot or node");
}

/// What that option or environment variable says of collective operations, for other hosts to understand.
std::string read_named_collectives(const std::string &typed, const std::string &text) {
    try {
        return read_collectives(text);
    } catch (const Error &error) {
        refuse("option " + typed + ": " + error.what());
    }
}

std::vector<std::string> read_words(const std::string &text) {
    std::istringstream stream(text);
    std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
    if (words.empty()) refuse("option --agent has an empty value: it is a command that is called as ssh is");
    return words;
}

void check_name(const std::string &option, const std::string &name) {
    if (name.empty() || name.find('=') != std::string::npos)
        refuse("option " + option + " names the environment variable '" + name +
               "': a name is not empty and has no '='");
}

std::pair<std::string, std::string> read_variable(const std::string &option, const std::string &text) {
    const auto equals = text.find('=');
    std::string name = text.substr(0, equals);
    check_name(option, name);
    if (equals != std::string::npos) return {std::move(name), text.substr(equals + 1)};
    const char *value = std::getenv(name.c_str());
    if (value == nullptr)
        refuse("option " + option + " passes on the environment variable " + name +
               ", which is not set: set it, or give its value as " + name + "=VALUE");
    return {std::move(name), value};
}

std::vector<std::string> read_names(const std::string &text) {
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find(',', begin), text.size());
        if (end > begin) names.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return names;
}

struct Option {
    std::string_view name; ///< without dashes; one and two are the same
    std::function<void(const std::string &typed, Reader &)> act;
};

[[noreturn]] void refuse_unknown(const std::string &typed, std::string_view name, std::span<const Option> options) {
    std::vector<std::string_view> known;
    for (const Option &option : options) known.push_back(option.name);
    const std::string nearest = nearest_option(name, known);
    if (nearest.empty()) refuse("unknown option " + typed);
    refuse("unknown option " + typed + ": did you mean " + (nearest.size() > 1 ? "--" : "-") + nearest + "?");
}

void add_process_set(CommandLine &line, const std::string &set) {
    constexpr const char *variable = "VOLLEY_PROCESS_SETS";
    const auto known = std::ranges::find(line.environment, variable, &std::pair<std::string, std::string>::first);
    if (known == line.environment.end())
        line.environment.emplace_back(variable, set);
    else
        known->second += ";" + set;
}

/// The options of one application, up to its program. Those for the whole job may stand in any of them.
void read_options(Reader &reader, CommandLine &line, Application &application, bool is_elsewhere) {
    const auto ranks = [&](const std::string &typed, Reader &from) {
        application.ranks = read_ranks(typed, from.value(typed, "the number of ranks"));
        application.ranks_given = true;
    };
    const auto directory = [&](const std::string &typed, Reader &from) {
        application.directory = from.value(typed, "a directory");
    };
    const auto variable = [](auto &to) {
        return [&to](const std::string &typed, Reader &from) {
            const std::string name = from.value(typed, "a name and a value");
            check_name(typed, name);
            to.emplace_back(name, from.value(typed, "a name and a value"));
        };
    };
    const auto label = [&](const std::string &, Reader &) { line.label = true; };
    const auto hosts = [&](const std::string &typed, Reader &from) {
        line.hosts = read_hosts(typed, from.value(typed, "names of hosts with commas between"));
    };
    const auto hostfile = [&](const std::string &typed, Reader &from) {
        const std::string &file = from.value(typed, "a file that names hosts");
        if (!is_elsewhere) line.hosts = read_hostfile(file);
    };
    const auto universe_size = [&](const std::string &typed, Reader &from) {
        line.universe_size = read_ranks(typed, from.value(typed, "the number of ranks there can be"));
    };
    const Option options[] = {
        {"n", ranks},
        {"np", ranks},
        {"wdir", directory},
        {"env", variable(application.environment)},
        {"x",
         [&](const std::string &typed, Reader &from) {
             application.environment.push_back(read_variable(typed, from.value(typed, "NAME or NAME=VALUE")));
         }},
        {"genv", variable(line.environment)},
        {"genvlist",
         [&](const std::string &typed, Reader &from) {
             line.inherited = read_names(from.value(typed, "names with commas between"));
         }},
        {"genvnone", [&](const std::string &, Reader &) { line.inherited.emplace(); }},
        {"genvall", [&](const std::string &, Reader &) { line.inherited.reset(); }},
        {"ranks", [&](const std::string &typed,
                      Reader &from) { line.kind = read_kind(from.value(typed, "auto, shared or process")); }},
        {"bind", [&](const std::string &typed,
                     Reader &from) { line.binding = read_binding(from.value(typed, "core or none")); }},
        {"transport",
         [&](const std::string &typed, Reader &from) {
             line.environment.emplace_back("VOLLEY_TRANSPORT",
                                           read_transport(from.value(typed, transport_choice().c_str())));
         }},
        {"hosts", hosts},
        {"host", hosts},
        {"hostfile", hostfile},
        {"machinefile", hostfile},
        {"f", hostfile},
        {"map-by",
         [&](const std::string &typed, Reader &from) {
             const std::string &text = from.value(typed, "slot or node");
             if (is_mapping_within_host(text))
                 add_not_needed(line, typed + " " + text);
             else
                 line.mapping = read_mapping(text);
         }},
        {"ppn",
         [&](const std::string &typed, Reader &from) {
             line.ranks_per_host = read_ranks(typed, from.value(typed, "the number of ranks on each host"));
         }},
        {"agent",
         [&](const std::string &typed, Reader &from) {
             line.agent = read_words(from.value(typed, "a command that is called as ssh is"));
         }},
        {"interface", [&](const std::string &typed,
                          Reader &from) { line.interface = from.value(typed, "the name of a network interface"); }},
        {"port-range",
         [&](const std::string &typed, Reader &from) {
             line.environment.emplace_back("VOLLEY_PORT_RANGE",
                                           text_of(read_port_range(typed, from.value(typed, "two ports"))));
         }},
        {"collectives",
         [&](const std::string &typed, Reader &from) {
             line.environment.emplace_back(
                 "VOLLEY_COLLECTIVES",
                 read_named_collectives(typed, from.value(typed, "@FILE, or what VOLLEY_COLLECTIVES takes")));
         }},
        {"preload", [&](const std::string &, Reader &) { line.preload = true; }},
        {"preload-files",
         [&](const std::string &typed, Reader &from) {
             line.preload = true;
             line.preload_files = read_names(from.value(typed, "files with commas between"));
         }},
        {"progress-thread",
         [&](const std::string &, Reader &) { line.environment.emplace_back("VOLLEY_PROGRESS_THREAD", "1"); }},
        {"pset",
         [&](const std::string &typed, Reader &from) {
             add_process_set(line, from.value(typed, "a name and ranks, as in ocean=0-3,6"));
         }},
        {"universe-size", universe_size},
        {"usize", universe_size},
        {"label", label},
        {"l", label},
        {"verbose", [&](const std::string &, Reader &) { line.verbose = true; }},
        {"version", [&](const std::string &, Reader &) { line.version = true; }},
        {"settings", [&](const std::string &, Reader &) { line.settings = true; }},
        {"check", [&](const std::string &, Reader &) { line.check = true; }},
        {"help", [&](const std::string &, Reader &) { line.help = true; }},
        {"h", [&](const std::string &, Reader &) { line.help = true; }},
    };
    while (!reader.done() && reader.peek().size() > 1 && reader.peek()[0] == '-') {
        std::string typed = reader.take();
        std::vector<std::string> attached;
        if (typed.starts_with("--")) {
            const auto equals = typed.find('=');
            if (equals != std::string::npos) {
                attached.push_back(typed.substr(equals + 1));
                typed.resize(equals);
            }
        }
        const std::string_view name = std::string_view(typed).substr(typed.starts_with("--") ? 2 : 1);
        const Option *found = nullptr;
        for (const Option &option : options)
            if (option.name == name) found = &option;
        const auto act = [&](Reader &from) {
            const auto next_value = [&]() -> const std::string & { return from.value(typed, "what it is about"); };
            if (found != nullptr)
                found->act(typed, from);
            else if (!take_familiar_option(name, typed, next_value, line, application))
                refuse_unknown(typed, name, options);
        };
        if (attached.empty()) {
            act(reader);
        } else {
            Reader value(attached);
            act(value);
            if (!value.done()) refuse("option " + typed + " takes no value, but has '" + attached[0] + "'");
        }
    }
}

} // namespace

CommandLine read_command_line(const std::vector<std::string> &arguments, bool is_elsewhere) {
    CommandLine line;
    Reader reader(arguments);
    long ranks = 0;
    do {
        Application application;
        read_options(reader, line, application, is_elsewhere);
        while (reader.has_two() && is_location(reader.peek())) {
            application.locations.push_back(reader.take());
            read_options(reader, line, application, is_elsewhere);
        }
        if (line.help || line.version || line.settings) return line;
        if (line.check && reader.done()) return line;
        if (reader.done() || reader.peek() == ":") refuse("no program is named");
        application.program = reader.peek();
        if (application.program.empty()) refuse("the program's name is empty");
        while (!reader.done() && reader.peek() != ":") application.arguments.push_back(reader.take());
        ranks += application.ranks;
        line.applications.push_back(std::move(application));
        if (reader.done()) break;
        reader.take();
    } while (true);
    if (ranks > most_ranks)
        refuse("the job has " + std::to_string(ranks) + " ranks in all: " + std::to_string(most_ranks) +
               " are the most");
    return line;
}

int CommandLine::ranks() const {
    int sum = 0;
    for (const Application &application : applications) sum += application.ranks;
    return sum;
}

bool CommandLine::is_for_hosts() const {
    if (!hosts.empty()) return true;
    for (const Application &application : applications)
        if (!application.locations.empty()) return true;
    return false;
}

void export_settings(const CommandLine &line) {
    for (const auto &[name, value] : line.environment)
        if (name.starts_with("VOLLEY_")) setenv(name.c_str(), value.c_str(), 1);
}

const char *help_text() {
    return R"(mpiexec starts the ranks of an MPI program, on this machine or on several.

    mpiexec [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM2 [ARGUMENTS] ...]

For each program:
  -n N, -np N         number of ranks (1)
  -wdir DIRECTORY     where its ranks run; a PROGRAM with a '/' is looked for from there
  -env NAME VALUE     set an environment variable
  -x NAME[=VALUE]     the same; without VALUE the variable must be set here
For the whole job:
  -genv NAME VALUE    set an environment variable for all programs
  -genvlist A,B,...   pass on these variables of mpiexec's environment only; -genvnone: none; -genvall: all
  --ranks KIND        shared: ranks share one address space; process: each is an ordinary process;
                      auto: shared where the program can be (the default)
  --bind core|none    core: each rank runs on its share of the cores, alone there; none: where the system
                      likes; without this option, core if there are as many processors as ranks
  --transport NAME    what carries messages between ranks: shm, memory they share; tcp, TCP connections, also on
                      one host; daemon: a process beside the ranks of each host, so that messages move while
                      programs compute; fabric: libfabric (InfiniBand and others); auto: what is fastest
                      (the default)
  --hosts A:4,B:4     run on these hosts, so many ranks on each (1); --host is the same
  --hostfile FILE     the same from a file, one host a line, as Open MPI, MPICH and LAM have it; also -f, -machinefile
  C, N, n0-3,5, c0-3  before PROGRAM: a rank for each slot, host, these hosts, these slots, of the list or of the node
                      daemons that volley boot has left running; on their hosts no agent is needed
  --map-by slot|node  fill the slots of each host in turn (the default), or take one of each in turn
  -ppn N              so many ranks on each host, whatever the list says
  --agent COMMAND     starts programs on other hosts; called as ssh is, COMMAND HOST PROGRAM ... (srun in an
                      allocation of Slurm, otherwise ssh)
  --interface NAME    the network between hosts, by an interface's name or as 10.1.0.0/16 (one all hosts are in)
  --port-range A-B    ports at which ranks and daemons take connections, for firewalls (those the system chooses)
  --collectives WHAT  which algorithms collective operations take: @FILE that volley tune has written, OPERATION=ALGORITHM,
                      show (as the environment variable VOLLEY_COLLECTIVES has it)
  --preload           bring the programs to other hosts, where they need not be; ranks there run in a directory of
                      the job's, which is removed when it ends
  --preload-files A,B the same, and these files, which lie there under these names
  --pset NAME=RANKS   a process set of MPI's sessions, as in ocean=0-3,6; more by repeating the option
  --universe-size N   MPI_UNIVERSE_SIZE, a hint how many ranks there can be in all (the slots of the hosts, or
                      the processors of this machine); -usize is the same
  -l, --label         start each line of output with its rank
  --enable-recovery   the job goes on without ranks that fail; the others learn of it by errors of MPI, and recover by
                      functions MPIX_Comm_... (docs/recovery.md)
  --progress-thread   a thread of each rank moves messages while the program computes
  --timeout SECONDS   end the job after that time, with exit status 124
  --verbose           say for each program how its ranks run, and why
  --check [PROGRAM]   print as JSON what would be done with it, and end (volley check says it in words)
  --settings          print the settings of ranks (environment variables VOLLEY_*) and their values, and end
  --version, --help

Options that command lines for Open MPI's, MPICH's and Intel's mpirun carry are taken as well: --bind-to, -N,
--tag-output, -prepend-rank, -wd are done; --oversubscribe, --mca X Y, --map-by core and others are named as not needed
(-q: not named).

Rank 0 reads standard input. Ctrl-C, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are
passed on to all ranks; a second Ctrl-C kills them, as does a second SIGTERM, SIGHUP or SIGQUIT. Processes
that ranks have started end with the job.

SIGURG (kill -URG PID) makes mpiexec say on its standard error what each rank does, who waits for whom, and whether
the job hangs; mpitask does the same from outside.

The exit status is that of the first rank that failed (128 + the signal's number if a signal ended it), 0 if
none did; 2 if the command line is wrong, 127 or 126 if a program is not found or cannot be started, 1 if
the system refused something.
)";
}

} // namespace volley::launch
