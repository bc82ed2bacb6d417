// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/resident_daemon.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <list>

#include "boot/error.h"
#include "boot/proof/handshake_socket.h"
#include "boot/sockets.h"
#include "launch/ending.h"
#include "launch/hosts/booted_set.h"
#include "launch/hosts/daemon_channel.h"
#include "launch/hosts/daemon_connection.h"
#include "launch/hosts/node_daemon.h"
#include "launch/hosts/preload.h"
#include "launch/output.h"
#include "launch/process_group.h"
#include "launch/signals.h"

namespace volley::launch {
namespace {

/// Who has not proven that he knows the secret by then goes; as do the first, if there are more.
constexpr std::chrono::seconds longest_handshake{5};
constexpr std::size_t most_strangers = 64;
/// Of strangers, in the log.
constexpr int most_lines = 8;
constexpr mode_t log_mode = 0600;

void log(const std::string &text) {
    char time[32];
    const std::time_t now = std::time(nullptr);
    tm parts = {};
    std::strftime(time, sizeof time, "%F %T", localtime_r(&now, &parts));
    std::fprintf(stderr, "%s node daemon: %s\n", time, text.c_str());
}

class ResidentDaemon {
  public:
    ResidentDaemon(Descriptor listener, Descriptor file_watch, BootedSet set, StateFiles files)
        : listener_(std::move(listener)), file_watch_(std::move(file_watch)), set_(std::move(set)),
          files_(std::move(files)) {
        prctl(PR_SET_CHILD_SUBREAPER, 1); // what a job leaves, should its node daemon be killed, becomes ours
    }

    void run() {
        while (!ended_) {
            wait();
            take_signals();
            check_file();
            accept_strangers();
            advance_strangers();
            for (auto client = clients_.begin(); client != clients_.end();)
                client = serve(*client) ? std::next(client) : clients_.erase(client);
        }
    }

  private:
    struct Stranger {
        ResponderSocket socket;
        Clock::time_point until;
    };

    void wait() {
        std::vector<pollfd> watched = {
            {signals_->descriptor(), POLLIN, 0}, {listener_.get(), POLLIN, 0}, {file_watch_.get(), POLLIN, 0}};
        for (const Stranger &stranger : strangers_) watched.push_back({stranger.socket.descriptor(), POLLIN, 0});
        for (const Channel &client : clients_) client.watch(watched);
        poll(watched.data(), watched.size(), strangers_.empty() ? -1 : milliseconds_until(strangers_.front().until));
    }

    void take_signals() {
        while (const auto number = signals_->take()) {
            if (*number == SIGCHLD) reap();
            // Of the terminal from which it was started it is independent.
            if (*number != SIGHUP && asks_to_end(*number)) end(std::string("it got ") + signal_name(*number));
        }
    }

    void reap() {
        int status = 0;
        for (pid_t process = waitpid(-1, &status, WNOHANG); process > 0; process = waitpid(-1, &status, WNOHANG))
            if (std::erase(jobs_, process) > 0 && WIFSIGNALED(status))
                log("the node daemon of a job, process " + std::to_string(process) + ", was ended by " +
                    signal_name(WTERMSIG(status)));
        // While a job has its node daemon, that one takes care of whatever the job has started.
        for (const pid_t process : own_children())
            if (std::ranges::find(jobs_, process) == jobs_.end()) kill(process, SIGKILL);
        remove_stale_preloads(files_.directory());
    }

    void check_file() {
        alignas(inotify_event) char events[4096];
        if (read(file_watch_.get(), events, sizeof events) <= 0) return;
        end_all_jobs();
        log("ended: " + files_.nodes() + ", by which it is found, was removed or replaced");
        ended_ = true;
    }

    void accept_strangers() {
        while (Descriptor socket = accept_from(listener_)) {
            strangers_.push_back({ResponderSocket(std::move(socket)), Clock::now() + longest_handshake});
            if (strangers_.size() > most_strangers) strangers_.pop_front();
        }
    }

    void advance_strangers() {
        const auto find_secret = [this](const Introduction &introduction) -> std::optional<Secret> {
            const Secret secret = secret_of(set_);
            if (introduction.ends.protocol != resident_protocol || !are_equal(introduction.secret, name_of(secret)))
                return std::nullopt;
            return secret;
        };
        for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
            const HandshakeState state = stranger->socket.advance(find_secret);
            if (state == HandshakeState::refused && lines_++ < most_lines)
                log(peer_of(stranger->socket.descriptor()) + " does not know the secret of these daemons");
            if (state == HandshakeState::proven)
                clients_.emplace_back(stranger->socket.take(), stranger->socket.session_keys());
            const bool stays = state == HandshakeState::going_on && Clock::now() < stranger->until;
            stranger = stays ? std::next(stranger) : strangers_.erase(stranger);
        }
    }

    /// False: nothing more is to be said to him.
    bool serve(Channel &client) {
        client.advance();
        while (const auto frame = client.next()) {
            switch (frame->kind) {
            case FrameKind::run_job:
                start_job(client);
                return false;
            case FrameKind::describe:
                client.send(
                    FrameKind::describe, 0,
                    DescriptionMessage{VOLLEY_VERSION, getpid(), static_cast<std::int32_t>(jobs_.size()), began_}
                        .encode());
                break;
            case FrameKind::clean:
                end_all_jobs();
                client.send(FrameKind::clean);
                break;
            case FrameKind::halt:
                end("volley halt");
                client.send(FrameKind::halt);
                say_all(client);
                return false;
            default:
                return false;
            }
        }
        return !client.closed();
    }

    void start_job(Channel &client) {
        const pid_t child = fork();
        if (child > 0) jobs_.push_back(child);
        if (child < 0) {
            client.send(FrameKind::refused, static_cast<int>(ExitStatus::failure),
                        std::string("its daemon cannot start a process for the job: ") + std::strerror(errno));
            say_all(client);
        }
        if (child != 0) return;
        Channel channel = std::move(client);
        setsid();
        signals_->restore();
        signals_.reset();
        listener_.reset();
        file_watch_.reset();
        strangers_.clear();
        clients_.clear();
        _exit(run_node_daemon(std::move(channel)));
    }

    void end_all_jobs() {
        end_children();
        jobs_.clear();
        remove_stale_preloads(files_.directory());
    }

    void end(const std::string &why) {
        end_all_jobs();
        log("ended: " + why);
        files_.remove();
        ended_ = true;
    }

    std::optional<Signals> signals_{std::in_place};
    Descriptor listener_, file_watch_;
    BootedSet set_;
    StateFiles files_;
    std::list<Stranger> strangers_; ///< in the order of their coming
    std::list<Channel> clients_;    ///< who know the secret
    std::vector<pid_t> jobs_;       ///< node daemons
    std::int64_t began_ = std::time(nullptr);
    int lines_ = 0;
    bool ended_ = false;
};

/// Can be read once the daemon's file is gone.
Descriptor watch_file(const StateFiles &files) {
    Descriptor watch(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!watch || inotify_add_watch(watch.get(), files.nodes().c_str(), IN_DELETE_SELF | IN_MOVE_SELF) < 0)
        throw system_error("cannot watch " + files.nodes() + " (is fs.inotify.max_user_instances too low?)");
    return watch;
}

/// From now on this is a process of its own, with nothing of whoever started it.
void leave(const Descriptor &log_file) {
    setsid();
    dup2(log_file.get(), STDOUT_FILENO);
    dup2(log_file.get(), STDERR_FILENO);
    if (chdir("/") != 0) log("cannot change to the directory /");
}

[[noreturn]] void stay(Descriptor listener, Descriptor file_watch, BootedSet set, const StateFiles &files) {
    auto status = ExitStatus::failure;
    try {
        ResidentDaemon(std::move(listener), std::move(file_watch), std::move(set), files).run();
        status = ExitStatus::success;
    } catch (const std::exception &error) {
        log(std::string("ended: ") + error.what());
        files.remove();
    }
    _exit(static_cast<int>(status));
}

/// Only in the process that called it this returns.
void begin_to_stay(Channel &channel, Descriptor listener, BootedSet set, const StateFiles &files) {
    // Before the fork: should the others not be there, the file is removed at once.
    Descriptor file_watch = watch_file(files);
    const Descriptor log_file(
        open(files.log().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, log_mode));
    if (!log_file) throw system_error("cannot write " + files.log());
    const pid_t child = fork();
    if (child < 0) throw system_error("cannot start a process that stays");
    if (child > 0) return;
    channel.close();
    leave(log_file);
    setenv("VOLLEY_STATE_DIRECTORY", files.directory().c_str(), 1); // for what its jobs preload, too
    stay(std::move(listener), std::move(file_watch), std::move(set), files);
}

int boot(Channel &channel) {
    channel.say(greeting);
    channel.send(FrameKind::hello, 0, own_hello().encode());
    const BootMessage order = BootMessage::decode(await(channel, FrameKind::boot).payload);
    std::uint16_t port = 0;
    Descriptor listener = listen_at(order.address, order.ports, port);
    channel.send(FrameKind::ports, 0, PortsMessage{.ports = {port}}.encode());
    BootedSet set = decode_booted_set(await(channel, FrameKind::booted).payload);
    const StateFiles files(order.directory);
    files.write(set);
    try {
        begin_to_stay(channel, std::move(listener), std::move(set), files);
        channel.send(FrameKind::booted);
        await(channel, FrameKind::alive); // the others are there, too
    } catch (...) {
        files.remove(); // at which the daemon ends
        throw;
    }
    return static_cast<int>(ExitStatus::success);
}
} // namespace

int run_resident_daemon() {
    Channel channel = take_standard_streams();
    auto status = static_cast<int>(ExitStatus::failure);
    try {
        status = boot(channel);
    } catch (const NotWanted &) {
    } catch (const std::exception &error) {
        channel.send(FrameKind::refused, status, error.what());
    }
    say_all(channel);
    return status;
}

} // namespace volley::launch
