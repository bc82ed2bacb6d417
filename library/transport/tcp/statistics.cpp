// SPDX-License-Identifier: BSD-3-Clause
/// What is counted of each connection, asked only by tools.
#include "transport/tcp/tcp.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace volley {

void Connection::count(TcpStatistics &statistics) const {
    tcp_info information{}; // an older kernel fills less of it
    socklen_t bytes = sizeof information;
    if (!socket_ || getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &information, &bytes) != 0) return;
    statistics.connections++;
    statistics.bytes_sent += information.tcpi_bytes_sent;
    statistics.bytes_received += information.tcpi_bytes_received;
    statistics.retransmissions += information.tcpi_total_retrans;
}

TcpStatistics Tcp::statistics() const {
    TcpStatistics sum;
    for (const auto &one : outgoing_)
        if (one) one->count(sum);
    for (const auto &one : incoming_)
        if (one) one->count(sum);
    return sum;
}

MessageCount Tcp::sent_to(ProcessIndex process) const {
    const auto index = static_cast<std::size_t>(process);
    return index < outgoing_.size() && outgoing_[index] ? outgoing_[index]->message_count() : MessageCount{};
}

MessageCount Tcp::received_from(ProcessIndex process) const {
    const auto index = static_cast<std::size_t>(process);
    return index < incoming_.size() && incoming_[index] ? incoming_[index]->message_count() : MessageCount{};
}

} // namespace volley
