// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/boot_commands.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include "boot/addresses.h"
#include "boot/arena.h"
#include "boot/error.h"
#include "boot/settings.h"
#include "boot/sockets.h"
#include "launch/hosts/agent.h"
#include "launch/hosts/booted_set.h"
#include "launch/hosts/daemon_channel.h"
#include "launch/hosts/daemon_connection.h"
#include "launch/hosts/resident_daemon.h"
#include "launch/output.h"
#include "launch/signals.h"
#include "tools/json.h"

namespace volley::launch {
namespace {

constexpr std::chrono::seconds longest_start{60};
/// A daemon that runs answers at once, unless its host is out of reach.
constexpr std::chrono::milliseconds longest_answer{2000};
/// Daemons end what is left of jobs first.
constexpr std::chrono::milliseconds longest_end{5000};

struct BootOptions {
    std::vector<Host> hosts;
    Agent agent;
    std::string interface;
    PortRange ports = read_settings().port_range;
    bool json = false;
};

[[noreturn]] void refuse(const std::string &text) {
    throw Error(text, ExitStatus::usage);
}

/// `arguments` begin with the command's own option.
BootOptions read_options(const std::vector<std::string> &arguments) {
    BootOptions options;
    const bool boots = arguments[0] == "--boot";
    for (std::size_t at = 1; at < arguments.size(); at++) {
        const std::string &word = arguments[at];
        const auto value = [&]() -> const std::string & {
            if (at + 1 == arguments.size()) refuse("option " + word + " needs a value");
            return arguments[++at];
        };
        if (boots && (word == "--hosts" || word == "--host")) {
            options.hosts = read_hosts(word, value());
        } else if (boots && word == "--agent") {
            std::istringstream words(value());
            for (std::string each; words >> each;) options.agent.words.push_back(each);
        } else if (boots && word == "--interface") {
            options.interface = value();
        } else if (boots && word == "--port-range") {
            options.ports = read_port_range(word, value());
        } else if (arguments[0] == "--nodes" && word == "--json") {
            options.json = true;
        } else if (boots && !word.starts_with("-")) {
            if (!options.hosts.empty()) refuse("hosts are named twice, also by '" + word + "'");
            options.hosts = read_hostfile(word);
        } else {
            refuse("'" + word + "' is not understood (see volley " + arguments[0].substr(2) + " --help)");
        }
    }
    if (boots && options.hosts.empty())
        refuse("no hosts are named: volley boot HOSTFILE, or volley boot --hosts A:4,B:4");
    return options;
}

BootedSet booted_set() {
    if (auto set = StateFiles(state_directory()).read()) return *std::move(set);
    throw Error("no node daemons of this user are known on this host: volley boot HOSTFILE starts them");
}

std::string counted(std::size_t number, const std::string &what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

/// One host that is being booted.
struct Booting {
    Host host;
    StartedDaemon daemon;
    std::optional<HelloMessage> hello = std::nullopt;
    std::optional<PortsMessage> ports = std::nullopt;
    bool booted = false;
};

/// Guarantees: all daemons run, or none.
class Boot {
  public:
    explicit Boot(const BootOptions &options) : options_(options), files_(state_directory()) {}

    void run() {
        check_not_booted();
        start();
        wait_for([](const Booting &node) { return node.hello.has_value(); });
        require_different_hosts();
        send_orders();
        wait_for([](const Booting &node) { return node.ports.has_value(); });
        send_set();
        wait_for([](const Booting &node) { return node.booted; });
        check_answers();
        const bool is_node =
            std::ranges::any_of(nodes_, [](auto &node) { return node.hello->host == own_host_name(); });
        if (!is_node) files_.write(set_);
        for (Booting &node : nodes_) node.daemon.channel.send(FrameKind::alive);
        for (Booting &node : nodes_) end_agent(node);
        const int slots = slots_of(options_.hosts, 0);
        std::printf("%s with %s; volley nodes shows them, volley halt ends them\n",
                    counted(nodes_.size(), "node daemon").c_str(),
                    counted(static_cast<std::size_t>(slots), "slot").c_str());
    }

  private:
    void check_not_booted() const {
        require_proofs();
        if (std::getenv("SLURM_JOB_ID") != nullptr && options_.agent.words.empty())
            throw Error(
                "Slurm ends what a step leaves running, so no daemon would stay: start jobs by mpiexec --hosts, "
                "which takes srun, or name another agent (--agent ssh)");
        const auto set = files_.read();
        if (!set) return;
        const auto answers = ask(*set, FrameKind::describe, "", longest_answer);
        std::string running;
        for (std::size_t node = 0; node < answers.size(); node++)
            if (!answers[node].is_gone) running += (running.empty() ? "" : ", ") + set->nodes[node].name;
        if (!running.empty())
            throw Error("node daemons of this user run already on " + running +
                        ": volley nodes shows them, volley halt ends them");
    }

    void start() {
        const Signals signals;
        for (const Host &host : options_.hosts)
            nodes_.push_back(
                {.host = host,
                 .daemon = start_daemon(host.name, options_.agent, resident_daemon_option, signals.original_mask())});
        signals.restore();
    }

    template <class Condition> void wait_for(Condition is_there) {
        const auto until = Clock::now() + longest_start;
        while (!std::ranges::all_of(nodes_, is_there)) {
            std::vector<pollfd> watched;
            for (const Booting &node : nodes_) node.daemon.channel.watch(watched);
            poll(watched.data(), watched.size(), milliseconds_until(until));
            for (Booting &node : nodes_) {
                node.daemon.channel.advance();
                while (const auto frame = node.daemon.channel.next()) take(node, *frame);
                if (is_there(node)) continue;
                if (node.daemon.channel.closed()) fail(node, how_ended(node.daemon));
                if (Clock::now() >= until)
                    fail(node, "nothing has been heard of its node daemon for " +
                                   std::to_string(longest_start.count()) + " seconds, which `" + node.daemon.command +
                                   "` was to start");
            }
        }
    }

    void take(Booting &node, const Frame &frame) {
        if (frame.kind == FrameKind::hello) {
            node.hello = HelloMessage::decode(frame.payload);
            const Booting &first = nodes_.front().hello ? nodes_.front() : node;
            require_equal(node.host.name, *node.hello, first.host.name, *first.hello);
        } else if (frame.kind == FrameKind::ports) {
            node.ports = PortsMessage::decode(frame.payload);
        } else if (frame.kind == FrameKind::booted) {
            node.booted = true;
        } else if (frame.kind == FrameKind::refused) {
            fail(node, frame.payload);
        }
    }

    [[noreturn]] static void fail(const Booting &node, const std::string &reason) {
        throw Error("host " + node.host.name + " cannot be used: " + reason + "; no daemon is left on any host");
    }

    void require_different_hosts() const {
        for (const Booting &node : nodes_)
            for (const Booting &other : nodes_)
                if (&other < &node && other.hello->host == node.hello->host)
                    throw Error("hosts " + other.host.name + " and " + node.host.name + " both call themselves " +
                                node.hello->host + ": name each host once, and give hosts names of their own");
    }

    void send_orders() {
        std::vector<HostAddresses> hosts;
        for (const Booting &node : nodes_) hosts.push_back({node.host.name, node.hello->host, node.hello->addresses});
        const bool is_alone = nodes_.size() == 1 && is_this_host(hosts.front().name) && options_.interface.empty();
        const auto addresses = is_alone ? std::vector{loopback_address()} : choose_addresses(hosts, options_.interface);
        set_.secret = draw_secret();
        for (std::size_t at = 0; at < nodes_.size(); at++) {
            const BootMessage order{.directory = files_.directory(),
                                    .secret = set_.secret,
                                    .address = addresses[at],
                                    .ports = options_.ports};
            nodes_[at].daemon.channel.send(FrameKind::boot, 0, order.encode());
            set_.nodes.push_back({hosts[at].name, hosts[at].host, nodes_[at].host.slots, addresses[at], 0});
        }
    }

    void send_set() {
        for (std::size_t at = 0; at < nodes_.size(); at++)
            set_.nodes[at].port = static_cast<std::uint16_t>(nodes_[at].ports->ports.at(0));
        for (Booting &node : nodes_) node.daemon.channel.send(FrameKind::booted, 0, encode(set_));
    }

    /// From here, as mpiexec will find them.
    void check_answers() const {
        const auto answers = ask(set_, FrameKind::describe, "", longest_end);
        for (std::size_t at = 0; at < answers.size(); at++)
            if (!answers[at].frame)
                fail(nodes_[at], "its node daemon cannot be reached from this host, " + answers[at].problem +
                                     " (a firewall, or not the right network: option --interface)");
    }

    static void end_agent(Booting &node) {
        while (!node.daemon.channel.closed()) {
            std::vector<pollfd> watched;
            node.daemon.channel.watch(watched);
            poll(watched.data(), watched.size(), -1); // until the daemon's first process ends
            node.daemon.channel.advance();
        }
        waitpid(node.daemon.process, nullptr, 0);
    }

    const BootOptions &options_;
    StateFiles files_;
    std::vector<Booting> nodes_;
    BootedSet set_;
};

/// What is known of a node.
struct NodeState {
    std::string word; ///< alive, gone or silent
    std::string problem;
    std::optional<DescriptionMessage> description;
};

NodeState state_of(const Answered &answer) {
    if (answer.frame) return {"alive", "", DescriptionMessage::decode(answer.frame->payload)};
    return {answer.is_gone ? "gone" : "silent", answer.problem, std::nullopt};
}

void print_json(const BootedSet &set, const std::vector<NodeState> &states) {
    view::Json json;
    json.begin_object();
    json.key("nodes").begin_array();
    for (std::size_t at = 0; at < states.size(); at++) {
        const BootedNode &node = set.nodes[at];
        const auto &description = states[at].description;
        json.begin_object();
        json.key("node").value(at);
        json.key("host").value(node.name);
        json.key("address").value(text_of(node.address));
        json.key("port").value(node.port);
        json.key("slots").value(node.slots);
        json.key("state").value(states[at].word);
        if (description) {
            json.key("version").value(description->version);
            json.key("process").value(description->process);
            json.key("jobs").value(description->jobs);
            json.key("began_at").value(description->began_at);
        } else {
            json.key("problem").value(states[at].problem);
        }
        json.end_object();
    }
    json.end_array();
    json.end_object();
    std::puts(json.text().c_str());
}

void print_table(const BootedSet &set, const std::vector<NodeState> &states) {
    std::size_t widest = 4, widest_address = 7;
    for (const BootedNode &node : set.nodes) {
        widest = std::max(widest, node.name.size());
        widest_address = std::max(widest_address, text_of(node.address).size());
    }
    const int width = static_cast<int>(widest), address_width = static_cast<int>(widest_address);
    std::printf("%-5s  %-*s  %-*s  %5s  %-6s  %4s  %s\n", "NODE", width, "HOST", address_width, "ADDRESS", "SLOTS",
                "STATE", "JOBS", "VERSION");
    for (std::size_t at = 0; at < states.size(); at++) {
        const BootedNode &node = set.nodes[at];
        const auto &description = states[at].description;
        std::printf("n%-4zu  %-*s  %-*s  %5d  %-6s  %4s  %s\n", at, width, node.name.c_str(), address_width,
                    text_of(node.address).c_str(), node.slots, states[at].word.c_str(),
                    description ? std::to_string(description->jobs).c_str() : "",
                    description ? description->version.c_str() : ("(" + states[at].problem + ")").c_str());
    }
}

int show_nodes(const BootOptions &options) {
    const BootedSet set = booted_set();
    std::vector<NodeState> states;
    for (const Answered &answer : ask(set, FrameKind::describe, "", longest_answer)) states.push_back(state_of(answer));
    options.json ? print_json(set, states) : print_table(set, states);
    const bool all = std::ranges::all_of(states, [](auto &state) { return state.description.has_value(); });
    return static_cast<int>(all ? ExitStatus::success : ExitStatus::failure);
}

/// Says which daemons have not answered, and what that means. True if there are none but those that have ended.
bool report_silent(const BootedSet &set, const std::vector<Answered> &answers, const std::string &command,
                   const std::string &remedy) {
    bool all = true;
    for (std::size_t at = 0; at < answers.size(); at++) {
        if (answers[at].frame || answers[at].is_gone) continue;
        all = false;
        std::fprintf(stderr, "%s: host %s: %s; %s\n", command.c_str(), set.nodes[at].name.c_str(),
                     answers[at].problem.c_str(), remedy.c_str());
    }
    return all;
}

int clean() {
    const BootedSet set = booted_set();
    const auto answers = ask(set, FrameKind::clean, "", longest_end);
    const auto nodes = std::ranges::count_if(answers, [](const Answered &answer) { return answer.frame.has_value(); });
    std::printf("nothing of a job is left on %s\n", counted(static_cast<std::size_t>(nodes), "host").c_str());
    const bool all = report_silent(set, answers, "volley clean", "its jobs, if it has any, run on");
    return static_cast<int>(all ? ExitStatus::success : ExitStatus::failure);
}

int halt() {
    const BootedSet set = booted_set();
    const StateFiles files(state_directory());
    const auto answers = ask(set, FrameKind::halt, "", longest_end);
    files.remove();
    const auto ended = std::ranges::count_if(answers, [](const Answered &answer) { return answer.frame.has_value(); });
    std::printf("%s ended\n", counted(static_cast<std::size_t>(ended), "node daemon").c_str());
    const bool all =
        report_silent(set, answers, "volley halt",
                      "a daemon that still runs there ends once " + files.directory() + " is removed on that host");
    return static_cast<int>(all ? ExitStatus::success : ExitStatus::failure);
}

} // namespace

bool is_boot_command(const std::vector<std::string> &arguments) {
    constexpr const char *commands[] = {"--boot", "--nodes", "--clean", "--halt"};
    return !arguments.empty() && std::ranges::find(commands, arguments[0]) != std::end(commands);
}

std::string name_of_boot_command(const std::vector<std::string> &arguments) {
    return "volley " + arguments[0].substr(2);
}

int run_boot_command(const std::vector<std::string> &arguments) {
    const BootOptions options = read_options(arguments);
    if (arguments[0] == "--nodes") return show_nodes(options);
    if (arguments[0] == "--clean") return clean();
    if (arguments[0] == "--halt") return halt();
    Boot(options).run();
    return static_cast<int>(ExitStatus::success);
}

} // namespace volley::launch
