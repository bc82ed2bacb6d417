// SPDX-License-Identifier: BSD-3-Clause
/// What the kernel counts of each connection, asked only by tools.
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

} // namespace volley
