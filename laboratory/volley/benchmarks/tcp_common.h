/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages on a bare TCP connection over loopback, the way an MPI sends them: a header of 24 bytes (the size of
 * LAM/MPI's envelope), then the body. What a variant's name says, words joined by '+':
 *
 *     write     header and body by one call each (first word)
 *     writev    header and body by one call together (first word)
 *     nodelay   TCP_NODELAY on: no waiting for an acknowledgement before a small segment goes out
 *     quickack  TCP_QUICKACK set again after every read: no delayed acknowledgements
 *     cork      TCP_CORK on from before the header to after the body
 *     else      a congestion control, such as cubic; without one, the system's default
 *               (net.ipv4.tcp_congestion_control), which the facts name
 */
#ifndef VOLLEY_TCP_COMMON_H
#define VOLLEY_TCP_COMMON_H

#define VOLLEY_NO_MPI
#include "volley_test.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct header {
    uint64_t bytes, sequence, unused;
};
_Static_assert(sizeof(struct header) == 24, "the size of LAM/MPI's envelope");

static struct {
    int socket;
    int together, nodelay, quickack, cork;
    char congestion[32];
    uint64_t sent, received; /* messages, for the headers' sequence numbers */
} connection = {.socket = -1};

static inline int congestion_control_is_known(const char *name) {
    char line[1024] = "";
    FILE *file = fopen("/proc/sys/net/ipv4/tcp_available_congestion_control", "re");
    int known = 0;
    if (!file) return 1; /* let setsockopt() answer */
    if (fgets(line, sizeof line, file))
        for (char *rest = line, *word; (word = strtok_r(rest, " \n", &rest));) known |= !strcmp(word, name);
    fclose(file);
    return known;
}

static inline void read_variant(const char *variant) {
    char words[sizeof((struct volley_point *)0)->variant];
    char *rest = words;
    snprintf(words, sizeof words, "%s", variant);
    const char *word = strtok_r(rest, "+", &rest);
    connection.together = word && !strcmp(word, "writev");
    if (!word || (!connection.together && strcmp(word, "write") != 0))
        volley_die("variant \"%s\" begins with neither write nor writev", variant);
    connection.nodelay = connection.quickack = connection.cork = 0;
    connection.congestion[0] = '\0';
    while ((word = strtok_r(rest, "+", &rest))) {
        if (!strcmp(word, "nodelay"))
            connection.nodelay = 1;
        else if (!strcmp(word, "quickack"))
            connection.quickack = 1;
        else if (!strcmp(word, "cork"))
            connection.cork = 1;
        else if (congestion_control_is_known(word))
            snprintf(connection.congestion, sizeof connection.congestion, "%s", word);
        else
            volley_die("variant \"%s\": \"%s\" is neither nodelay, quickack, cork nor an available congestion control",
                       variant, word);
    }
}

/* ---- connecting --------------------------------------------------------------------------------- */

static inline void set_option(int socket_file, int option, const char *name, int value) {
    if (setsockopt(socket_file, IPPROTO_TCP, option, &value, sizeof value) != 0)
        volley_die("cannot set %s to %d: %s", name, value, strerror(errno));
}

static inline int new_socket(void) {
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0) volley_die("no socket: %s", strerror(errno));
    const char *congestion = connection.congestion;
    if (*congestion && setsockopt(file, IPPROTO_TCP, TCP_CONGESTION, congestion, (socklen_t)strlen(congestion)) != 0)
        volley_die("cannot set congestion control %s: %s", congestion, strerror(errno));
    return file;
}

static inline void close_connection(void) {
    if (connection.socket >= 0) close(connection.socket);
    connection.socket = -1;
}

/** What the kernel counted on this rank's side, and the congestion control that really was in force. */
static inline void say_and_close(const struct volley_point *point) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    char congestion[32] = "";
    socklen_t congestion_length = sizeof congestion - 1;
    memset(&info, 0, sizeof info);
    if (getsockopt(connection.socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
        getsockopt(connection.socket, IPPROTO_TCP, TCP_CONGESTION, congestion, &congestion_length) != 0)
        volley_die("cannot ask for TCP_INFO or TCP_CONGESTION: %s", strerror(errno));
    volley_fact("{\"fact\": \"tcp_connection\", \"size\": %" PRIu64 ", \"variant\": \"%s\", \"congestion\": \"%s\", "
                "\"retransmitted_segments\": %u, \"spurious_retransmits\": %u, \"reorderings\": %u, "
                "\"segments_out\": %u, \"segments_in\": %u, \"segment_bytes\": %u, \"congestion_window\": %u, "
                "\"round_trip_us\": %u, \"busy_us\": %" PRIu64 ", \"receive_window_limited_us\": %" PRIu64
                ", \"send_buffer_limited_us\": %" PRIu64 "}",
                point->size, point->variant, congestion, info.tcpi_total_retrans, info.tcpi_dsack_dups,
                info.tcpi_reord_seen, info.tcpi_segs_out, info.tcpi_segs_in, info.tcpi_snd_mss, info.tcpi_snd_cwnd,
                info.tcpi_rtt, (uint64_t)info.tcpi_busy_time, (uint64_t)info.tcpi_rwnd_limited,
                (uint64_t)info.tcpi_sndbuf_limited);
    close_connection();
}

/** A new connection between ranks 0 and 1, as the point's variant wants it: no point inherits another's window. */
static inline void open_connection(const struct volley_point *point) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    close_connection(); /* left open where a check failed */
    read_variant(point->variant);
    int file = new_socket();
    if (volley.rank == 0) {
        if (bind(file, (struct sockaddr *)&address, sizeof address) != 0 || listen(file, 1) != 0 ||
            getsockname(file, (struct sockaddr *)&address, &length) != 0)
            volley_die("cannot listen on 127.0.0.1: %s", strerror(errno));
        volley_maximum(ntohs(address.sin_port));
        connection.socket = accept(file, NULL, NULL);
        if (connection.socket < 0) volley_die("cannot accept: %s", strerror(errno));
        close(file);
    } else {
        address.sin_port = htons((uint16_t)volley_maximum(0));
        if (connect(file, (struct sockaddr *)&address, sizeof address) != 0)
            volley_die("cannot connect to 127.0.0.1 port %d: %s", ntohs(address.sin_port), strerror(errno));
        connection.socket = file;
    }
    connection.sent = connection.received = 0;
    if (connection.nodelay) set_option(connection.socket, TCP_NODELAY, "TCP_NODELAY", 1);
    if (connection.quickack) set_option(connection.socket, TCP_QUICKACK, "TCP_QUICKACK", 1);
    volley.end_of_point = say_and_close;
}

/* ---- messages ----------------------------------------------------------------------------------- */

/** Goes on where a transfer of `done` bytes left the two parts. */
static inline void advance(struct iovec parts[2], size_t done) {
    for (int i = 0; i < 2; i++) {
        size_t step = done < parts[i].iov_len ? done : parts[i].iov_len;
        parts[i].iov_base = (char *)parts[i].iov_base + step;
        parts[i].iov_len -= step;
        done -= step;
    }
}

/** The parts that are left, in one call or (by write and read) the first of them alone. */
static inline void transfer(struct iovec parts[2], int sending) {
    int file = connection.socket;
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t done;
        struct iovec *first = parts[0].iov_len ? &parts[0] : &parts[1];
        if (connection.together && first == &parts[0] && parts[1].iov_len)
            done = sending ? writev(file, parts, 2) : readv(file, parts, 2);
        else
            done = sending ? write(file, first->iov_base, first->iov_len) : read(file, first->iov_base, first->iov_len);
        if (done == 0 && !sending) volley_die("the other rank closed the connection");
        if (done < 0 && errno != EINTR) volley_die("cannot %s: %s", sending ? "write" : "read", strerror(errno));
        if (done > 0) advance(parts, (size_t)done);
        if (connection.quickack && !sending) set_option(file, TCP_QUICKACK, "TCP_QUICKACK", 1);
    }
}

static inline void send_message(void *body, size_t bytes) {
    struct header header = {.bytes = bytes, .sequence = connection.sent++, .unused = 0};
    struct iovec parts[2] = {{&header, sizeof header}, {body, bytes}};
    if (connection.cork) set_option(connection.socket, TCP_CORK, "TCP_CORK", 1);
    transfer(parts, 1);
    if (connection.cork) set_option(connection.socket, TCP_CORK, "TCP_CORK", 0);
}

static inline void receive_message(void *body, size_t bytes) {
    struct header header = {0, 0, 0};
    struct iovec parts[2] = {{&header, sizeof header}, {body, bytes}};
    transfer(parts, 0);
    if (header.bytes != bytes || header.sequence != connection.received)
        volley_die("header says message %" PRIu64 " of %" PRIu64 " bytes where message %" PRIu64
                   " of %zu bytes was expected",
                   header.sequence, header.bytes, connection.received, bytes);
    connection.received++;
}

#endif
