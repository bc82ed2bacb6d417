// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/node_daemon.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "boot/addresses.h"
#include "boot/arena.h"
#include "boot/error.h"
#include "boot/settings.h"
#include "boot/sockets.h"
#include "launch/hosts/channel.h"
#include "launch/hosts/daemon_channel.h"
#include "launch/hosts/look_desk.h"
#include "launch/hosts/messages.h"
#include "launch/hosts/preload.h"
#include "launch/hosts/relay_process.h"
#include "launch/run.h"

namespace volley::launch {
namespace {

/// Takes over where mpiexec runs, and its environment.
void take_over(const JobMessage &job) {
    clearenv();
    for (const std::string &variable : job.environment) {
        const auto equals = variable.find('=');
        if (equals != std::string::npos) setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
    }
    if (chdir(job.directory.c_str()) != 0)
        throw system_error("cannot change to the directory " + job.directory +
                           " (ranks run where mpiexec runs; option -wdir names another directory)");
}

class NodeDaemon {
  public:
    explicit NodeDaemon(Channel &channel) : channel_(channel) {}

    int run() {
        const rlimit open_files = raise_open_files();
        channel_.say(greeting);
        channel_.send(FrameKind::hello, 0, own_hello().encode());
        const auto take_file = [this](const Frame &frame) { preloaded_.take(frame); };
        JobMessage job = JobMessage::decode(await(channel_, FrameKind::job, take_file).payload);
        if (!preloaded_.directory().empty()) job.directory = preloaded_.directory();
        take_over(job);
        CommandLine line = read_command_line(job.arguments, true);
        for (std::size_t program = 0; program < line.applications.size(); program++)
            line.applications[program].ranks = job.ranks.at(program);
        if (!preloaded_.directory().empty()) run_preloaded(line);
        export_settings(line);
        Plan plan = make_plan(line, {.node_of = job.node_of, .own = job.node, .name = job.job, .secret = job.secret},
                              job.hosts);
        if (line.verbose) channel_.send(FrameKind::output, STDERR_FILENO, describe(plan));
        listen(plan, job);
        const StartMessage start = StartMessage::decode(await(channel_, FrameKind::start).payload);
        Arena arena(plan.layout);
        publish(arena, plan, start);
        arena.head()->recovery = line.recovery && can_recover(arena.head()->transport) ? 1 : 0;
        RecoveryDesk desk(arena);
        LookDesk looks(job.secret, job.node);
        arena.head()->look_socket = looks.socket();
        Input input(Input::Source::mpiexec);
        Output output(plan.here, plan.ranks(), line.label, channel_, job.person != 0);
        const Signals signals;
        std::optional<RelayProcess> relay;
        if (!relay_listeners_.empty()) relay.emplace(arena, std::move(relay_listeners_));
        NodeConnection connection{.channel = &channel_,
                                  .beats = job.beats != 0,
                                  .relay = relay ? &*relay : nullptr,
                                  .desk = &desk,
                                  .looks = &looks,
                                  .listeners = numbers_};
        if (job.port != 0) connection.silence.ask_at(job.asked_at, {job.port});
        return run_ranks(plan, arena, signals, open_files, input, output, std::move(connection));
    }

  private:
    void run_preloaded(CommandLine &line) const {
        for (std::size_t index = 0; index < line.applications.size(); index++) {
            std::string &program = line.applications[index].program;
            program = preloaded_.directory() + "/" + preloaded_name(index, program);
        }
    }

    /// Makes the sockets where the ranks of this host and its relay take connections, and tells mpiexec their ports.
    void listen(Plan &plan, const JobMessage &job) {
        PortsMessage message;
        const Settings settings = read_settings();
        if (job.hosts.size() > 1) {
            numbers_.resize(static_cast<std::size_t>(plan.ranks()));
            for (const int rank : plan.here) {
                std::uint16_t port = 0;
                for (Descriptor &listener : listen_at(job.addresses, settings.port_range, port)) {
                    numbers_[static_cast<std::size_t>(rank)].add(listener.get());
                    listeners_.push_back(std::move(listener));
                }
                message.ports.push_back(port);
            }
            // Ranks find their sockets under numbers that are the same in all of them, and taken until then.
            for (std::size_t address = 0; address < job.addresses.size(); address++)
                plan.listeners.add(reserved_.emplace_back(open("/dev/null", O_RDWR)).get());
        }
        if (settings.carrier() == Transport::daemon) {
            std::uint16_t port = 0;
            const auto own = job.addresses.empty() ? std::vector{loopback_address()} : job.addresses;
            relay_listeners_ = listen_at(own, settings.port_range, port);
            message.relay = port;
        }
        channel_.send(FrameKind::ports, 0, message.encode());
    }

    static void publish(Arena &arena, const Plan &plan, const StartMessage &start) {
        const auto own = static_cast<std::size_t>(std::max(arena.head()->node, 0));
        for (std::size_t node = 0; node < plan.hosts.size(); node++) {
            NodeRecord &record = arena.node(static_cast<int>(node));
            plan.hosts[node].copy(record.host, host_name_bytes - 1);
            if (plan.hosts.size() > 1)
                std::ranges::copy(in_order_of_trial(start.addresses.at(own), start.addresses.at(node)),
                                  record.addresses);
            record.relay_port = start.relays.at(node);
        }
        for (std::size_t rank = 0; rank < start.ports.size(); rank++)
            arena.record(static_cast<int>(rank)).tcp_port = start.ports[rank];
    }

    Channel &channel_;
    PreloadReceiver preloaded_;
    std::vector<Descriptor> listeners_, relay_listeners_, reserved_;
    std::vector<Listeners> numbers_; ///< of listeners_, by rank
};

} // namespace

int run_node_daemon() {
    return run_node_daemon(take_standard_streams());
}

int run_node_daemon(Channel channel) {
    auto status = static_cast<int>(ExitStatus::failure);
    try {
        status = NodeDaemon(channel).run();
    } catch (const NotWanted &) {
        status = static_cast<int>(ExitStatus::success);
    } catch (const Error &error) {
        status = static_cast<int>(error.status());
        channel.send(FrameKind::refused, status, error.what());
    } catch (const std::exception &error) {
        channel.send(FrameKind::refused, status, error.what());
    }
    channel.send(FrameKind::ended, status);
    say_all(channel);
    return status;
}

} // namespace volley::launch
