// SPDX-License-Identifier: BSD-3-Clause
#include "tools/socket_counters.h"

#include "boot/descriptor.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace volley::view {
namespace {

/// The kernel answers at once, or not at all.
constexpr timeval longest_silence{.tv_sec = 0, .tv_usec = 200'000};
constexpr std::size_t answer_bytes = 64 << 10; ///< more than the kernel puts into one datagram (32 KiB)
constexpr std::uint32_t any_state = ~0U;

using Counters = std::unordered_map<std::uint64_t, SocketCounters>;

void take(const nlmsghdr &message, Counters &counters) {
    inet_diag_msg facts = {};
    if (message.nlmsg_len < NLMSG_LENGTH(sizeof facts)) return;
    std::memcpy(&facts, NLMSG_DATA(&message), sizeof facts);
    if (facts.idiag_inode == 0) return; // nobody has it any more
    SocketCounters found{.unacknowledged = facts.idiag_wqueue, .unread = facts.idiag_rqueue, .retransmissions = 0};
    auto left = static_cast<int>(message.nlmsg_len - NLMSG_LENGTH(sizeof facts));
    const auto *begin = static_cast<const char *>(NLMSG_DATA(&message)) + NLMSG_ALIGN(sizeof facts);
    for (const auto *attribute = reinterpret_cast<const rtattr *>(begin); RTA_OK(attribute, left);
         attribute = RTA_NEXT(attribute, left)) {
        if (attribute->rta_type != INET_DIAG_INFO) continue;
        tcp_info information = {}; // an older kernel fills less of it
        std::memcpy(&information, RTA_DATA(attribute),
                    std::min<std::size_t>(RTA_PAYLOAD(attribute), sizeof information));
        found.retransmissions = information.tcpi_total_retrans;
        counters[facts.idiag_inode] = found;
    }
}

/// False if there is no more to come.
bool take_all(const char *datagram, std::size_t bytes, Counters &counters) {
    auto left = static_cast<unsigned>(bytes);
    for (const auto *message = reinterpret_cast<const nlmsghdr *>(datagram); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
        if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) return false;
        take(*message, counters);
    }
    return true;
}

void read_family(const Descriptor &netlink, unsigned char family, Counters &counters) {
    struct {
        nlmsghdr head;
        inet_diag_req_v2 wanted;
    } request = {};
    request.head.nlmsg_len = sizeof request;
    request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.wanted.sdiag_family = family;
    request.wanted.sdiag_protocol = IPPROTO_TCP;
    request.wanted.idiag_ext = 1 << (INET_DIAG_INFO - 1);
    request.wanted.idiag_states = any_state;
    if (send(netlink.get(), &request, sizeof request, 0) < 0) return;
    std::vector<char> answer(answer_bytes);
    while (true) {
        const ssize_t got = recv(netlink.get(), answer.data(), answer.size(), 0);
        if (got <= 0 || !take_all(answer.data(), static_cast<std::size_t>(got), counters)) return;
    }
}

} // namespace

Counters read_socket_counters() {
    Counters counters;
    const Descriptor netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!netlink) return counters;
    setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &longest_silence, sizeof longest_silence);
    read_family(netlink, AF_INET, counters);
    read_family(netlink, AF_INET6, counters);
    return counters;
}

} // namespace volley::view
