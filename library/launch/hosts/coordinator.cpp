// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/coordinator.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "boot/addresses.h"
#include "boot/arena.h"
#include "boot/error.h"
#include "boot/settings.h"
#include "boot/sockets.h"
#include "launch/ending.h"
#include "launch/hosts/daemon_channel.h"
#include "launch/hosts/locations.h"
#include "launch/hosts/outline.h"
#include "launch/plan.h"
#include "launch/run.h"

extern char **environ;

namespace volley::launch {
namespace {

/// Until a node daemon has said that it is there. An agent may have to find its way.
constexpr std::chrono::seconds longest_start{60};
/// After the end has been ordered, node daemons have so long.
constexpr std::chrono::milliseconds longest_end{2000};
/// A resident daemon answers at once, unless its host is out of reach.
constexpr std::chrono::seconds longest_handshake{5};

} // namespace

Coordinator::Coordinator(const CommandLine &line, const std::vector<std::string> &arguments,
                         const std::vector<Host> &hosts, const std::vector<std::int32_t> &host_of, const BootedSet *set)
    : line_(line), arguments_(arguments), set_(set), output_(STDOUT_FILENO), error_(STDERR_FILENO),
      agreements_(host_of.size()) {
    // Hosts without ranks are no nodes; nodes are numbered in the order of their first ranks.
    std::vector<std::int32_t> node_of_host(hosts.size(), -1);
    for (const std::int32_t host : host_of) {
        std::int32_t &node = node_of_host[static_cast<std::size_t>(host)];
        if (node < 0) {
            node = static_cast<std::int32_t>(hosts_.size());
            hosts_.push_back(hosts[static_cast<std::size_t>(host)].name);
        }
        node_of_.push_back(node);
    }
    looks_ = Looks(hosts_.size());
}

int Coordinator::run() {
    start_daemons();
    while (!all_ended()) {
        wait();
        take_signals();
        answer_questions();
        for (Node &node : nodes_) take_frames(node);
        answer_tools();
        if (!jobs_sent_ && !ending_ && all_have([](const Node &node) { return node.hello.has_value(); })) send_jobs();
        for (Node &node : nodes_)
            if (node.preload && !ending_) preload(node);
        if (!started_ && !ending_ && all_have([](const Node &node) { return node.ports.has_value(); })) send_start();
        if (started_) pass_input();
        for (Node &node : nodes_) check_lost(node);
        beat();
        if (give_up_at_ && Clock::now() >= *give_up_at_) give_up();
    }
    finish();
    if (failed_ == node_of_.size() && outlived_) note_status(*outlived_); // nobody has survived
    if (output_.has_lost_text() || error_.has_lost_text()) note_status(static_cast<int>(ExitStatus::failure));
    return status_.value_or(static_cast<int>(ExitStatus::success));
}

void Coordinator::start_daemons() {
    std::vector<const BootedNode *> booted;
    for (const std::string &host : hosts_)
        if (const BootedNode *node = set_ != nullptr ? set_->find(host) : nullptr) booted.push_back(node);
    // Agents are slower: they find their way meanwhile.
    std::vector<std::optional<StartedDaemon>> daemons;
    for (const std::string &host : hosts_) {
        daemons.emplace_back();
        if (set_ == nullptr || set_->find(host) == nullptr)
            daemons.back() = start_daemon(host, Agent{line_.agent}, node_daemon_option, signals_.original_mask());
    }
    std::vector<Reached> reached;
    if (!booted.empty()) reached = reach(*set_, booted, longest_handshake);
    for (std::size_t host = 0, next = 0; host < hosts_.size(); host++) {
        if (!daemons[host]) daemons[host] = start_by_resident(hosts_[host], reached[next++]);
        nodes_.push_back(
            {.host = hosts_[host], .daemon = *std::move(daemons[host]), .remote = !is_this_host(hosts_[host])});
    }
}

StartedDaemon Coordinator::start_by_resident(const std::string &host, Reached &reached) {
    if (!reached.channel)
        throw Error("host " + host + " cannot be used: " + reached.problem +
                    ", where volley boot has left a daemon: volley halt and volley boot start it anew, --agent ssh "
                    "starts this job without it");
    reached.channel->send(FrameKind::run_job);
    reached.channel->begins_with(greeting);
    return {0, *std::move(reached.channel), "volley boot"};
}

void Coordinator::wait() {
    watched_.clear();
    watched_.push_back({signals_.descriptor(), POLLIN, 0});
    output_.watch(watched_);
    error_.watch(watched_);
    if (started_) input_.watch(watched_);
    for (Node &node : nodes_) {
        const bool full = output_.full() || error_.full();
        if (full || node.daemon.channel.paused()) node.silence.heard(); // nobody has listened
        node.daemon.channel.pause(full);
        node.daemon.channel.watch(watched_);
        node.silence.watch(watched_);
    }
    if (listener_) watched_.push_back({listener_.get(), POLLIN, 0});
    if (look_desk_) look_desk_->watch(watched_);
    poll(watched_.data(), watched_.size(), timeout_ms());
    output_.advance();
    error_.advance();
}

int Coordinator::timeout_ms() const {
    auto until = Clock::now() + beat_interval; // also to look at the time since hosts were heard of
    if (give_up_at_) until = std::min(until, *give_up_at_);
    until = std::min(until, looks_.deadline().value_or(until));
    if (view_) until = std::min(until, view_->second_look_at().value_or(until));
    return milliseconds_until(until);
}

void Coordinator::take_frames(Node &node) {
    node.daemon.channel.advance();
    while (const auto frame = node.daemon.channel.next()) {
        node.silence.heard();
        take(node, *frame);
    }
}

void Coordinator::take(Node &node, const Frame &frame) {
    switch (frame.kind) {
    case FrameKind::hello:
        return take_hello(node, frame);
    case FrameKind::ports:
        node.ports = PortsMessage::decode(frame.payload);
        return;
    case FrameKind::output:
        (frame.number == STDERR_FILENO ? error_ : output_).put(frame.payload);
        return;
    case FrameKind::message:
        if (!ending_) message(frame.payload);
        return;
    case FrameKind::refused:
        // What is wrong is often wrong on all hosts: it is said once.
        if (!ending_) message("host " + node.host + ": " + frame.payload);
        note_status(frame.number);
        return end_others(&node, 0);
    case FrameKind::failed:
        return take_failed(node, frame);
    case FrameKind::lost:
        return send_all(FrameKind::lost_elsewhere, frame.number, frame.payload, &node);
    case FrameKind::rank_failed:
        return note_failures(RanksMessage::decode(frame.payload), frame.number);
    case FrameKind::abort_ranks:
        return send_all(FrameKind::ranks_aborted, frame.number, frame.payload, &node);
    case FrameKind::revoke:
        return send_all(FrameKind::revoked, frame.number, "");
    case FrameKind::contribution:
        if (const auto contribution = Contribution::decode(frame.payload, node_of_.size()))
            if (const auto decision = agreements_.contribute(*contribution)) tell(*decision);
        return;
    case FrameKind::ask_hosts:
        return looks_.ask(static_cast<Looks::Asker>(&node - nodes_.data()));
    case FrameKind::looked: {
        const auto number = static_cast<std::int32_t>(&node - nodes_.data());
        if (const auto asker = looks_.answered(number, frame.number)) tell_looked(*asker, number, frame.payload);
        return;
    }
    case FrameKind::input_taken:
        return input_.passed_on(frame.number);
    case FrameKind::ended:
        node.ended = true;
        note_status(frame.number);
        node.daemon.channel.close();
        if (node.daemon.process > 0) waitpid(node.daemon.process, nullptr, WNOHANG);
        return;
    default: // alive
        return;
    }
}

void Coordinator::take_failed(const Node &node, const Frame &frame) {
    const FailedMessage failed = FailedMessage::decode(frame.payload);
    if (!ending_ && !failed.why.empty()) message(failed.why);
    note_status(frame.number);
    end_others(&node, failed.rank);
}

void Coordinator::take_hello(Node &node, const Frame &frame) {
    node.hello = HelloMessage::decode(frame.payload);
    const Node &first = nodes_.front().hello ? nodes_.front() : node;
    require_equal(node.host, *node.hello, first.host, *first.hello);
}

void Coordinator::send_jobs() {
    std::vector<HostAddresses> hosts;
    for (const Node &node : nodes_) hosts.push_back({node.host, node.hello->host, node.hello->addresses});
    if (nodes_.size() > 1) addresses_ = addresses_for_ranks(hosts, line_.interface);
    JobMessage job{};
    const int universe_size =
        line_.universe_size > 0 ? line_.universe_size : slots_of(line_.hosts, line_.ranks_per_host);
    job.arguments = {"--universe-size", std::to_string(universe_size)};
    job.arguments.insert(job.arguments.end(), arguments_.begin(), arguments_.end());
    for (char **variable = environ; *variable != nullptr; ++variable) job.environment.emplace_back(*variable);
    job.directory = std::filesystem::current_path();
    job.job = new_job_name();
    job.secret = draw_secret();
    job.node_of = node_of_;
    job.hosts = hosts_;
    for (const Application &application : line_.applications) job.ranks.push_back(application.ranks);
    listen_for_questions(job);
    open_for_tools(job);
    job.person = output_.is_terminal() || isatty(STDIN_FILENO) == 1;
    for (std::size_t number = 0; number < nodes_.size(); number++) {
        job.node = static_cast<std::int32_t>(number);
        job.addresses.clear();
        for (std::size_t at = 0; nodes_.size() > 1 && at < addresses_[number].size(); at++)
            job.addresses.push_back(addresses_[number][at].address);
        job.beats = nodes_[number].remote;
        if (line_.preload && nodes_[number].remote) {
            nodes_[number].preload.emplace(files_to_preload(line_));
            nodes_[number].job = job.encode();
        } else {
            nodes_[number].daemon.channel.send(FrameKind::job, 0, job.encode());
        }
    }
    jobs_sent_ = true;
}

void Coordinator::send_start() {
    StartMessage start{.addresses = addresses_, .ports = {}, .relays = {}};
    for (const Node &node : nodes_) start.relays.push_back(node.ports->relay);
    if (nodes_.size() > 1) {
        std::vector<std::size_t> next(nodes_.size());
        for (const std::int32_t number : node_of_) {
            const auto node = static_cast<std::size_t>(number);
            start.ports.push_back(nodes_[node].ports->ports.at(next[node]++));
        }
    }
    for (std::size_t node = 0; listener_ && node < nodes_.size(); node++)
        nodes_[node].silence.ask_at(addresses_[node].front().address, nodes_[node].ports->ports);
    send_all(FrameKind::start, 0, start.encode());
    started_ = true;
}

void Coordinator::take_signals() {
    while (const auto number = signals_.take()) {
        if (*number == SIGCHLD) continue; // the channels say what ends
        if (*number != view_signal)
            pass_on(*number);
        else if (view_ && view_->begin())
            looks_.ask(Looks::view);
    }
}

void Coordinator::pass_on(int number) {
    const bool again = std::ranges::find(asked_to_end_, number) != asked_to_end_.end();
    if (asks_to_end(number)) asked_to_end_.push_back(number);
    send_all(FrameKind::signal, number, "");
    if (!started_ && asks_to_end(number)) {
        ending_ = true;
        note_status(signal_status(number));
    }
    if ((again || !started_) && asks_to_end(number) && !give_up_at_) give_up_at_ = Clock::now() + longest_end;
    if (number == SIGCONT) input_.resume();
    stopped_ = number == SIGTSTP || (stopped_ && number != SIGCONT);
    if (number != SIGTSTP) return;
    for (Node &node : nodes_) node.daemon.channel.advance();
    kill(getpid(), SIGSTOP); // continued by a SIGCONT, which is passed on next
    for (Node &node : nodes_) node.silence.heard();
}

void Coordinator::pass_input() {
    Node &first = nodes_[static_cast<std::size_t>(node_of_.front())];
    if (first.ended) return;
    if (const auto bytes = input_.take()) first.daemon.channel.send(FrameKind::input, 0, *bytes);
}

void Coordinator::check_lost(Node &node) {
    if (node.ended) return;
    const Presence presence = node.silence.look();
    if (node.daemon.channel.closed()) return lose(node, how_ended(node.daemon));
    if (!node.hello && Clock::now() - began_ > longest_start)
        return lose(node, "nothing has been heard of its node daemon for " + std::to_string(longest_start.count()) +
                              " seconds, which `" + node.daemon.command + "` was to start");
    if (!node.hello || !jobs_sent_ || !node.remote || stopped_) return;
    const std::string seconds = std::to_string(longest_silence / std::chrono::seconds(1)) + " seconds";
    if (presence == Presence::gone) return lose(node, "nothing has been heard of it for " + seconds);
    const bool frozen = presence == Presence::frozen;
    if (frozen == node.frozen) return;
    node.frozen = frozen;
    message(frozen ? "host " + node.host + " has said nothing for " + seconds +
                         ", but its kernel answers: its processes stand still, and the job waits for them"
                   : "host " + node.host + " goes on");
}

/// The job comes behind its files. Until then the daemon has nothing to say.
void Coordinator::preload(Node &node) {
    node.silence.heard();
    if (!node.preload->advance(node.daemon.channel)) return;
    node.daemon.channel.send(FrameKind::job, 0, node.job);
    node.preload.reset();
}

/// So that node daemons can tell whether this host is gone if mpiexec stands still.
void Coordinator::listen_for_questions(JobMessage &job) {
    for (std::size_t node = 0; node < nodes_.size(); node++) {
        if (!nodes_[node].remote || nodes_.size() == 1) continue;
        const auto own = own_address_beside(addresses_[node].front().address);
        if (!own) continue;
        listener_ = listen_at(*own, read_settings().port_range, job.port);
        job.asked_at = *own;
        return;
    }
}

/// That there is a connection is the answer.
void Coordinator::answer_questions() {
    while (listener_ && accept_from(listener_)) {}
}

/// Without a desk tools still have those of the hosts with ranks.
void Coordinator::open_for_tools(const JobMessage &job) {
    view_.emplace(job.job, hosts_, node_of_);
    const auto no_node = static_cast<std::int32_t>(hosts_.size());
    try {
        look_desk_.emplace(job.secret, no_node);
    } catch (const Error &) {
        return;
    }
    const JobLayout layout{.node_of = node_of_, .own = no_node, .name = job.job, .secret = job.secret};
    outline_ = make_outline(layout, hosts_, look_desk_->socket());
}

void Coordinator::answer_tools() {
    if (look_desk_ && look_desk_->advance()) looks_.ask(Looks::mpiexec);
    if (view_ && view_->second_look_at() && Clock::now() >= *view_->second_look_at()) {
        view_->begin_second_look();
        looks_.ask(Looks::view);
    }
    std::vector<bool> is_there;
    for (const Node &node : nodes_) is_there.push_back(started_ && !node.ended);
    for (bool is_over = true; is_over;) {
        if (const auto round = looks_.begin(is_there, Clock::now()))
            for (const std::int32_t node : round->nodes)
                nodes_[static_cast<std::size_t>(node)].daemon.channel.send(FrameKind::look, round->number);
        const auto end = looks_.end(Clock::now());
        is_over = end.has_value();
        if (end) end_look(*end);
    }
}

void Coordinator::end_look(const Looks::End &end) {
    for (const std::int32_t node : end.silent) tell_looked(end.asker, node, "");
    if (end.asker == Looks::mpiexec) return look_desk_->finish();
    if (end.asker != Looks::view)
        return nodes_[static_cast<std::size_t>(end.asker)].daemon.channel.send(FrameKind::hosts_looked);
    if (auto text = view_->end_look(Clock::now())) {
        text->pop_back();
        message(*text);
    }
}

void Coordinator::tell_looked(Looks::Asker asker, std::int32_t node, const std::string &seen) {
    if (asker == Looks::mpiexec)
        look_desk_->answer(node, seen);
    else if (asker == Looks::view)
        view_->add(node, seen);
    else
        nodes_[static_cast<std::size_t>(asker)].daemon.channel.send(FrameKind::host_looked, node, seen);
}

void Coordinator::lose(Node &node, const std::string &reason) {
    node.ended = true;
    node.daemon.channel.close();
    if (node.daemon.process > 0) kill(node.daemon.process, SIGKILL);
    if (outlives_failures()) {
        message("host " + node.host + " is lost: " + reason + "; the job goes on");
        RanksMessage lost{{}, static_cast<int>(ExitStatus::failure)};
        for (std::size_t rank = 0; rank < node_of_.size(); rank++)
            if (&nodes_[static_cast<std::size_t>(node_of_[rank])] == &node && !agreements_.failed().has(rank))
                lost.ranks.push_back(static_cast<std::uint32_t>(rank));
        return note_failures(lost, static_cast<std::int32_t>(Failure::failed));
    }
    if (!ending_ && asked_to_end_.empty())
        message("host " + node.host + (jobs_sent_ ? " is lost: " : " cannot be used: ") + reason + "; the job ends");
    note_status(static_cast<int>(ExitStatus::failure));
    end_others(&node, 0);
}

bool Coordinator::outlives_failures() const {
    return line_.recovery && can_recover(read_settings().carrier()) && started_ && !ending_ && asked_to_end_.empty();
}

/// Node daemons hear of failures before they hear of what is decided because of them.
void Coordinator::note_failures(const RanksMessage &failed, std::int32_t failure) {
    if (failed.ranks.empty() || std::ranges::any_of(failed.ranks, [&](auto rank) { return rank >= node_of_.size(); }))
        return;
    if (!outlived_) outlived_ = failed.status;
    failed_ += failed.ranks.size();
    send_all(FrameKind::ranks_failed, failure, failed.encode());
    for (const Decision &decision : agreements_.fail(failed.ranks)) tell(decision);
}

void Coordinator::tell(const Decision &decision) {
    send_all(FrameKind::decided, 0, decision.encode());
}

void Coordinator::beat() {
    if (!jobs_sent_ || Clock::now() - said_ < beat_interval) return;
    said_ = Clock::now();
    for (Node &node : nodes_)
        if (node.remote && !node.ended) node.daemon.channel.send(FrameKind::alive);
}

/// Node daemons that have not ended in time: they notice that mpiexec is gone.
void Coordinator::give_up() {
    for (Node &node : nodes_)
        if (!node.ended) lose(node, "it does not end");
}

void Coordinator::end_others(const Node *but, int rank) {
    ending_ = true;
    send_all(FrameKind::end, rank, "", but);
    if (!give_up_at_) give_up_at_ = Clock::now() + longest_end;
}

void Coordinator::send_all(FrameKind kind, std::int32_t number, const std::string &payload, const Node *but) {
    for (Node &node : nodes_)
        if (&node != but && !node.ended) node.daemon.channel.send(kind, number, payload);
}

void Coordinator::message(const std::string &text) {
    error_.put("mpiexec: " + text + "\n");
    error_.advance();
}

void Coordinator::note_status(int status) {
    if (status != 0 && !status_) status_ = status;
}

/// Waits for a slow reader of the output, but not against the user's will.
void Coordinator::finish() {
    for (Node &node : nodes_)
        if (node.daemon.process > 0) waitpid(node.daemon.process, nullptr, node.remote ? WNOHANG : 0);
    while (!output_.empty() || !error_.empty()) {
        watched_.clear();
        watched_.push_back({signals_.descriptor(), POLLIN, 0});
        output_.watch(watched_);
        error_.watch(watched_);
        poll(watched_.data(), watched_.size(), -1);
        output_.advance();
        error_.advance();
        while (const auto number = signals_.take())
            if (asks_to_end(*number)) return;
    }
}

bool Coordinator::all_ended() const {
    return std::ranges::all_of(nodes_, &Node::ended);
}

bool Coordinator::all_have(bool (*what)(const Node &)) const {
    return std::ranges::all_of(nodes_, what);
}

int run_on_hosts(CommandLine line, const std::vector<std::string> &arguments) {
    // An agent that the user names is what he wants.
    const auto set = line.agent.empty() ? StateFiles(state_directory()).read() : std::nullopt;
    if (line.hosts.empty() && !set)
        throw Error(
            "'" + line.applications.front().locations.front() +
            "' names nodes, but none are known here: volley boot HOSTFILE starts their daemons, --hosts A:4,B:4 "
            "names hosts, and a program of that name is written ./" +
            line.applications.front().locations.front());
    if (line.hosts.empty()) line.hosts = set->hosts();
    const std::vector<std::int32_t> host_of = place_ranks(line);
    check_process_sets(read_settings().process_sets, line.ranks());
    return Coordinator(line, arguments, line.hosts, host_of, set ? &*set : nullptr).run();
}

} // namespace volley::launch
