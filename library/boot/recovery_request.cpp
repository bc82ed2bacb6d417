// SPDX-License-Identifier: BSD-3-Clause
#include "boot/recovery_request.h"

#include "boot/abstract_name.h"
#include "boot/error.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace volley {
namespace {

constexpr std::size_t longest_request = 256 << 10;

struct Head {
    unsigned char secret[secret_bytes];
    RecoveryRequestKind kind;
    std::uint32_t context;
    std::uint64_t ticket;
};

struct ContributionHead {
    std::uint32_t context, number, rank, flag;
    OfferedContexts contexts;
};

struct DecisionHead {
    std::uint32_t context, number, flag, is_acknowledged;
    OfferedContexts contexts;
};

template <class HeadType> void put(std::string &text, const HeadType &head) {
    text.append(reinterpret_cast<const char *>(&head), sizeof head);
}

void put(std::string &text, const RankSet &set) {
    text.append(reinterpret_cast<const char *>(set.words().data()), set.words().size() * sizeof(std::uint64_t));
}

/// Set number `index` behind the head.
RankSet set_in(const std::string &text, std::size_t head_bytes, std::size_t index, std::size_t ranks) {
    std::vector<std::uint64_t> words((ranks + 63) / 64);
    const std::size_t bytes = words.size() * sizeof(std::uint64_t);
    std::memcpy(words.data(), text.data() + head_bytes + index * bytes, bytes);
    return RankSet(std::move(words));
}

template <class HeadType> bool take(const std::string &text, std::size_t sets, std::size_t ranks, HeadType &head) {
    if (text.size() != sizeof head + sets * ((ranks + 63) / 64) * sizeof(std::uint64_t)) return false;
    std::memcpy(&head, text.data(), sizeof head);
    return true;
}

} // namespace

bool RankSet::is_within(const RankSet &one, const RankSet &other) const {
    for (std::size_t word = 0; word < words_.size(); word++)
        if ((words_[word] & ~(one.words_[word] | other.words_[word])) != 0) return false;
    return true;
}

RankSet RankSet::both(const RankSet &other) const {
    RankSet common = *this;
    for (std::size_t word = 0; word < words_.size(); word++) common.words_[word] &= other.words_[word];
    return common;
}

std::string Contribution::encode() const {
    std::string text;
    put(text, ContributionHead{context, number, rank, flag, contexts});
    put(text, members);
    put(text, acknowledged);
    return text;
}

std::optional<Contribution> Contribution::decode(const std::string &text, std::size_t ranks) {
    ContributionHead head;
    if (!take(text, 2, ranks, head) || head.rank >= ranks) return std::nullopt;
    return Contribution{.context = head.context,
                        .number = head.number,
                        .rank = head.rank,
                        .flag = head.flag,
                        .contexts = head.contexts,
                        .members = set_in(text, sizeof head, 0, ranks),
                        .acknowledged = set_in(text, sizeof head, 1, ranks)};
}

std::string Decision::encode() const {
    std::string text;
    put(text, DecisionHead{context, number, flag, is_acknowledged, contexts});
    put(text, failed);
    return text;
}

std::optional<Decision> Decision::decode(const std::string &text, std::size_t ranks) {
    DecisionHead head;
    if (!take(text, 1, ranks, head)) return std::nullopt;
    return Decision{.context = head.context,
                    .number = head.number,
                    .flag = head.flag,
                    .is_acknowledged = head.is_acknowledged,
                    .contexts = head.contexts,
                    .failed = set_in(text, sizeof head, 0, ranks)};
}

Descriptor open_for_recovery(std::uint32_t &number) {
    Descriptor made(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    number = bind_to_any_name(made);
    const int on = 1;
    if (number == 0 || setsockopt(made.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
        throw system_error("cannot make the socket where ranks ask for help with recovery");
    return made;
}

std::optional<RecoveryRequest> receive_recovery_request(const Descriptor &socket, const ArenaHead &arena) {
    for (;;) {
        const ssize_t bytes = recv(socket.get(), nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0) return std::nullopt; // as nearly always
        std::string text(std::min(static_cast<std::size_t>(bytes), longest_request), '\0');
        iovec into{text.data(), text.size()};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
        msghdr message = {};
        message.msg_iov = &into;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const ssize_t got = recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        const cmsghdr *about = CMSG_FIRSTHDR(&message);
        Head head;
        if (about == nullptr || about->cmsg_type != SCM_CREDENTIALS || static_cast<std::size_t>(got) < sizeof head)
            continue;
        ucred sender = {};
        std::memcpy(&sender, CMSG_DATA(about), sizeof sender);
        std::memcpy(&head, text.data(), sizeof head);
        if (sender.uid != getuid() || std::memcmp(head.secret, arena.secret, secret_bytes) != 0) continue;
        return RecoveryRequest{.kind = head.kind,
                               .context = head.context,
                               .ticket = head.ticket,
                               .contribution = text.substr(sizeof head, static_cast<std::size_t>(got) - sizeof head)};
    }
}

bool send_recovery_request(const ArenaHead &arena, const RecoveryRequest &request) {
    const std::uint32_t number = arena.launcher_socket.load(std::memory_order_acquire);
    if (number == 0) return false;
    const Descriptor from(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!from) return false;
    Head head = {.secret = {}, .kind = request.kind, .context = request.context, .ticket = request.ticket};
    std::memcpy(head.secret, arena.secret, secret_bytes);
    std::string text;
    put(text, head);
    text += request.contribution;
    const AbstractName to(number);
    // It waits while the launcher has many requests to take, which it always does.
    ssize_t sent;
    do sent = sendto(from.get(), text.data(), text.size(), MSG_NOSIGNAL, to.get(), to.bytes);
    while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(text.size());
}

} // namespace volley
