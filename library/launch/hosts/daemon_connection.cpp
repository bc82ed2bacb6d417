// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/daemon_connection.h"

#include <cerrno>
#include <cstring>

#include "boot/error.h"
#include "boot/proof/handshake_socket.h"
#include "boot/sockets.h"
#include "launch/clock.h"

namespace volley::launch {
namespace {

std::string in_seconds(std::chrono::milliseconds time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " seconds";
}

/// One handshake, until it is over.
class Attempt {
  public:
    Attempt(const BootedSet &set, const BootedNode &node, Reached &result) : node_(node), result_(result) {
        Descriptor socket = connect_to(node.address, node.port);
        if (socket) {
            initiator_.emplace(std::move(socket), secret_of(set), HandshakeEnds{.protocol = resident_protocol});
            advance();
        } else {
            fail(errno);
        }
    }

    [[nodiscard]] bool is_over() const {
        return !initiator_;
    }
    [[nodiscard]] pollfd watched() const {
        return {initiator_->descriptor(), static_cast<short>(initiator_->is_connecting() ? POLLOUT : POLLIN), 0};
    }
    void advance() {
        const HandshakeState state = initiator_->advance();
        if (state == HandshakeState::proven) result_.channel.emplace(initiator_->take(), initiator_->session_keys());
        if (state == HandshakeState::closed) return fail(errno);
        if (state == HandshakeState::refused) result_.problem = where() + " answers another program, not the daemon";
        if (state != HandshakeState::going_on) initiator_.reset();
    }
    void give_up(std::chrono::milliseconds time) {
        result_.problem = "nothing answers at " + where() + " within " + in_seconds(time);
        initiator_.reset();
    }

  private:
    [[nodiscard]] std::string where() const {
        return text_of(node_.address) + " port " + std::to_string(node_.port);
    }
    void fail(int reason) {
        result_.is_gone = reason == ECONNREFUSED;
        result_.problem = "nothing listens at " + where();
        if (reason == 0) result_.problem = "the connection to " + where() + " is closed at once";
        if (reason != 0 && reason != ECONNREFUSED)
            result_.problem = "no connection to " + where() + ": " + std::strerror(reason);
        initiator_.reset();
    }

    const BootedNode &node_;
    Reached &result_;
    std::optional<InitiatorSocket> initiator_;
};

} // namespace

Secret secret_of(const BootedSet &set) {
    Secret secret{};
    set.secret.copy(reinterpret_cast<char *>(secret.data()), secret.size());
    return secret;
}

std::vector<Reached> reach(const BootedSet &set, const std::vector<const BootedNode *> &nodes,
                           std::chrono::milliseconds time) {
    const auto until = Clock::now() + time;
    std::vector<Reached> reached(nodes.size());
    std::vector<Attempt> attempts;
    attempts.reserve(nodes.size());
    for (std::size_t node = 0; node < nodes.size(); node++) attempts.emplace_back(set, *nodes[node], reached[node]);
    while (true) {
        std::vector<pollfd> watched;
        std::vector<Attempt *> waiting;
        for (Attempt &attempt : attempts) {
            if (attempt.is_over()) continue;
            watched.push_back(attempt.watched());
            waiting.push_back(&attempt);
        }
        if (waiting.empty()) return reached;
        const int ready = poll(watched.data(), watched.size(), milliseconds_until(until));
        if (ready < 0 && errno == EINTR) continue;
        for (std::size_t index = 0; index < waiting.size(); index++) {
            if (watched[index].revents != 0)
                waiting[index]->advance();
            else if (Clock::now() >= until)
                waiting[index]->give_up(time);
        }
    }
}

std::vector<Answered> ask(const BootedSet &set, FrameKind kind, const std::string &payload,
                          std::chrono::milliseconds time) {
    const auto until = Clock::now() + time;
    std::vector<const BootedNode *> nodes;
    for (const BootedNode &node : set.nodes) nodes.push_back(&node);
    std::vector<Reached> reached = reach(set, nodes, time);
    std::vector<Answered> answers(nodes.size());
    for (std::size_t node = 0; node < nodes.size(); node++) {
        answers[node].problem = reached[node].problem;
        answers[node].is_gone = reached[node].is_gone;
        if (reached[node].channel) reached[node].channel->send(kind, 0, payload);
    }
    while (true) {
        std::vector<pollfd> watched;
        for (std::size_t node = 0; node < nodes.size(); node++) {
            std::optional<Channel> &channel = reached[node].channel;
            if (!channel) continue;
            channel->advance();
            answers[node].frame = channel->next();
            const bool late = Clock::now() >= until;
            if (!answers[node].frame && (late || channel->closed()))
                answers[node].problem = late ? "the daemon does not answer within " + in_seconds(time)
                                             : "the daemon has closed the connection";
            if (answers[node].frame || !answers[node].problem.empty())
                channel.reset();
            else
                channel->watch(watched);
        }
        if (watched.empty()) return answers;
        poll(watched.data(), watched.size(), milliseconds_until(until));
    }
}

} // namespace volley::launch
