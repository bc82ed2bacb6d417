// SPDX-License-Identifier: BSD-3-Clause
/// mpiexec of a job on several hosts: it starts a node daemon on each, and passes on what goes between them and the
/// user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/command_line.h"
#include "launch/hosts/agent.h"
#include "launch/hosts/agreements.h"
#include "launch/hosts/booted_set.h"
#include "launch/hosts/channel.h"
#include "launch/hosts/daemon_connection.h"
#include "launch/hosts/host_list.h"
#include "launch/hosts/hosts_view.h"
#include "launch/hosts/look_desk.h"
#include "launch/hosts/looks.h"
#include "launch/hosts/messages.h"
#include "launch/hosts/preload.h"
#include "launch/hosts/silence.h"
#include "launch/hosts/standard_input.h"
#include "launch/output.h"
#include "launch/signals.h"

namespace volley::launch {

/// Guarantees: the job ends when its last rank has ended. If a rank fails, or a host is lost, the ranks of all hosts
/// end, with one message. The job's status is that of the first rank that failed.
///
/// A job that outlives ranks that fail goes on instead. Who has failed, and what members of a communicator agree on, is
/// decided here (agreements.h), and told to all node daemons, in one order.
class Coordinator {
  public:
    /// `arguments` are mpiexec's own; `host_of` the host of each rank, by its index in `hosts`. On hosts of `set`, if
    /// there is one, resident daemons start the job's.
    Coordinator(const CommandLine &line, const std::vector<std::string> &arguments, const std::vector<Host> &hosts,
                const std::vector<std::int32_t> &host_of, const BootedSet *set);

    /// Returns mpiexec's exit status once all node daemons have ended. Throws Error if one cannot be started.
    int run();

  private:
    struct Node {
        std::string host;
        StartedDaemon daemon;
        bool remote; ///< it may vanish without a word
        std::optional<HelloMessage> hello = std::nullopt;
        std::optional<PortsMessage> ports = std::nullopt;
        bool ended = false;
        Silence silence = {};
        bool frozen = false;                                 ///< and that has been said
        std::optional<PreloadSender> preload = std::nullopt; ///< until all is sent
        std::string job = {};                                ///< follows it
    };

    void start_daemons();
    static StartedDaemon start_by_resident(const std::string &host, Reached &reached);
    void wait();
    [[nodiscard]] int timeout_ms() const;
    void take_frames(Node &node);
    void take(Node &node, const Frame &frame);
    void take_hello(Node &node, const Frame &frame);
    void take_failed(const Node &node, const Frame &frame);
    void send_jobs();
    void preload(Node &node);
    void open_for_tools(const JobMessage &job);
    void answer_tools();
    void end_look(const Looks::End &end);
    void tell_looked(Looks::Asker asker, std::int32_t node, const std::string &seen);
    void listen_for_questions(JobMessage &job);
    void answer_questions();
    void send_start();
    void take_signals();
    void pass_on(int number);
    void pass_input();
    void check_lost(Node &node);
    void lose(Node &node, const std::string &reason);
    [[nodiscard]] bool outlives_failures() const;
    void note_failures(const RanksMessage &failed, std::int32_t failure);
    void tell(const Decision &decision);
    void beat();
    void give_up();
    void end_others(const Node *but, int rank);
    void send_all(FrameKind kind, std::int32_t number, const std::string &payload, const Node *but = nullptr);
    void message(const std::string &text);
    void note_status(int status);
    void finish();
    [[nodiscard]] bool all_ended() const;
    [[nodiscard]] bool all_have(bool (*what)(const Node &)) const;

    const CommandLine &line_;
    const std::vector<std::string> &arguments_;
    const BootedSet *set_;
    std::vector<std::string> hosts_;    ///< that have ranks, by node
    std::vector<std::int32_t> node_of_; ///< by rank
    Signals signals_;
    DescriptorSink output_, error_;
    StandardInput input_;
    std::vector<Node> nodes_;
    std::vector<std::vector<HostAddress>> addresses_; ///< of ranks, by node; empty if there is one
    Descriptor listener_;                             ///< for questions of node daemons (silence.h); perhaps none
    std::vector<pollfd> watched_;
    bool jobs_sent_ = false;
    bool started_ = false; ///< the ranks may run
    bool ending_ = false;
    bool stopped_ = false; ///< no beats: a SIGTSTP has been passed on
    std::optional<int> status_;
    Agreements agreements_;
    Looks looks_;
    std::optional<HostsView> view_;
    std::optional<LookDesk> look_desk_; ///< for tools on this host, once they can find the job
    Descriptor outline_;                ///< by which they find it
    std::size_t failed_ = 0;            ///< ranks
    std::optional<int> outlived_;       ///< the status of the first of them
    std::vector<int> asked_to_end_;
    Clock::time_point began_ = Clock::now(), said_ = began_;
    std::optional<Clock::time_point> give_up_at_;
};

/// Runs the job on the hosts that the command line names, or on the nodes of `volley boot`.
int run_on_hosts(CommandLine line, const std::vector<std::string> &arguments);

} // namespace volley::launch
