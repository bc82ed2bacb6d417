/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets the TCP sockets of any program, whatever the program itself wants: loaded before its libraries
 * (LD_PRELOAD; see volley/systems/settings.py). VOLLEY_SHIM_SOCKETS holds words joined by '+':
 *
 *     nodelay             TCP_NODELAY on: a small segment goes out though data before it are not acknowledged
 *     nagle               TCP_NODELAY off
 *     quickack            TCP_QUICKACK on, again after every receive, since Linux forgets it: no delayed ACKs
 *     congestion:NAME     TCP_CONGESTION: cubic, reno, bbr, ...
 *     sndbuf:BYTES        SO_SNDBUF; "auto": the kernel sizes it, whatever the program sets
 *     rcvbuf:BYTES        SO_RCVBUF, likewise
 *     pacing:BYTES        SO_MAX_PACING_RATE, in bytes per second
 *     delay:N:MICROSECONDS   every N-th small send of a connection waits before it goes out
 *     late:N:MICROSECONDS    every N-th small receive of a connection waits after it came in
 *     report:FOLDER       when a connection is closed, a line in FOLDER/PID says what TCP_INFO counted: microseconds
 *                         busy, limited by the receiver's window, limited by the send buffer; segments sent again;
 *                         bytes of send and receive buffer
 *
 * Options are set before connect() and listen() (a window's scale is agreed on when a connection begins), and
 * again after connect() and accept(). What is held here, setsockopt() pretends to have set. IPv4 and IPv6; other
 * sockets and files are left alone, and so are copies made by dup(). errno stays as the program's own call left it.
 * VOLLEY_SHIM_SOCKETS_PLANTED holds words that came before: VOLLEY_SHIM_SOCKETS overrides them option by option,
 * so that a fault planted on purpose cannot overrule an experiment (volley/explain/plant.py).
 * A word it does not know ends the program: an experiment that changes nothing would prove something wrong.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    SMALL = 8192, /* bytes up to which a send or receive counts as small: a page or two */
    MOST_FILES = 65536,
    UNSET = -1,
    AUTOMATIC = -2, /* the kernel's own value: setsockopt() is held off, nothing is set */
};

struct pause {
    unsigned every; /* 0: never */
    unsigned microseconds;
};

static struct {
    int nodelay, quickack, send_buffer, receive_buffer;
    uint64_t pacing;     /* 0: unset */
    char congestion[16]; /* TCP_CA_NAME_MAX */
    struct pause delay, late;
    char report[200]; /* a folder; "": nothing is reported */
} wanted = {UNSET, UNSET, UNSET, UNSET, 0, "", {0, 0}, {0, 0}, ""};

/* A connection under our eyes, by its file number. */
static struct {
    atomic_int watched;
    atomic_uint sends, receives; /* small ones so far */
} connections[MOST_FILES];

/* ---- reading the words --------------------------------------------------------------------------- */

static void refuse(const char *word, const char *why) {
    char line[256];
    int length = snprintf(line, sizeof line, "shims/sockets.c: \"%s\": %s\n", word, why);
    if (length > 0) (void)!write(STDERR_FILENO, line, (size_t)length);
    _exit(2);
}

/* The number behind `name` and a colon, at most `most`; *rest is what follows it. */
static uint64_t number(const char *word, const char *digits, char **rest, uint64_t most) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(digits, &end, 10);
    if (errno || end == digits || *digits == '-' || value == 0 || value > most) refuse(word, "no such number");
    *rest = end;
    return value;
}

static int buffer(const char *word, const char *value) {
    char *rest;
    if (!strcmp(value, "auto")) return AUTOMATIC;
    int bytes = (int)number(word, value, &rest, INT32_MAX);
    if (*rest) refuse(word, "bytes expected, or auto");
    return bytes;
}

static struct pause read_pause(const char *word, const char *value) {
    char *rest;
    struct pause found = {(unsigned)number(word, value, &rest, UINT32_MAX), 0};
    if (*rest != ':') refuse(word, "N:MICROSECONDS expected");
    found.microseconds = (unsigned)number(word, rest + 1, &rest, 60u * 1000000);
    if (*rest) refuse(word, "N:MICROSECONDS expected");
    return found;
}

static void read_congestion(const char *word, const char *name) {
    if (strlen(name) >= sizeof wanted.congestion) refuse(word, "no such congestion control");
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe >= 0 && syscall(SYS_setsockopt, probe, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name)) != 0)
        refuse(word, "the kernel refuses this congestion control (net.ipv4.tcp_allowed_congestion_control)");
    if (probe >= 0) syscall(SYS_close, probe);
    snprintf(wanted.congestion, sizeof wanted.congestion, "%s", name);
}

static void read_word(const char *word) {
    char *rest;
    const char *colon = strchr(word, ':');
    const char *value = colon ? colon + 1 : "";
    size_t length = colon ? (size_t)(colon - word) : strlen(word);
#define IS(name) (length == sizeof name - 1 && !memcmp(word, name, length))
    if (IS("nodelay"))
        wanted.nodelay = 1;
    else if (IS("nagle"))
        wanted.nodelay = 0;
    else if (IS("quickack"))
        wanted.quickack = 1;
    else if (IS("congestion"))
        read_congestion(word, value);
    else if (IS("sndbuf"))
        wanted.send_buffer = buffer(word, value);
    else if (IS("rcvbuf"))
        wanted.receive_buffer = buffer(word, value);
    else if (IS("pacing")) {
        wanted.pacing = number(word, value, &rest, INT64_MAX);
        if (*rest) refuse(word, "bytes per second expected");
    } else if (IS("delay"))
        wanted.delay = read_pause(word, value);
    else if (IS("late"))
        wanted.late = read_pause(word, value);
    else if (IS("report")) {
        if (*value != '/' || strlen(value) >= sizeof wanted.report) refuse(word, "the path of a folder expected");
        strcpy(wanted.report, value);
    } else
        refuse(word, "no such word");
#undef IS
}

static void read_words(const char *variable) {
    char words[512], *rest = words;
    const char *value = getenv(variable);
    if (!value) return;
    if (strlen(value) >= sizeof words) refuse(variable, "too long");
    strcpy(words, value);
    for (char *word; (word = strtok_r(rest, "+", &rest));) read_word(word);
}

/* ---- the program's own calls ---------------------------------------------------------------------- */

/* Calls of other libraries' constructors may come before ours: then the name is looked up right there. */
#define NEXT(name)                                                                                                     \
    ({                                                                                                                 \
        static __typeof__(name) *_Atomic found;                                                                        \
        __typeof__(name) *function = atomic_load_explicit(&found, memory_order_relaxed);                               \
        if (!function) {                                                                                               \
            function = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                                                    \
            atomic_store_explicit(&found, function, memory_order_relaxed);                                             \
        }                                                                                                              \
        function;                                                                                                      \
    })

__attribute__((constructor)) static void begin(void) {
    int before = errno;
    read_words("VOLLEY_SHIM_SOCKETS_PLANTED");
    read_words("VOLLEY_SHIM_SOCKETS");
    errno = before;
}

static int option_of(int file, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    return syscall(SYS_getsockopt, file, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

static int is_tcp(int file) {
    int before = errno, domain = option_of(file, SO_DOMAIN);
    int found = (domain == AF_INET || domain == AF_INET6) && option_of(file, SO_PROTOCOL) == IPPROTO_TCP;
    errno = before;
    return found;
}

static void set(int file, int level, int name, const void *value, size_t length) {
    syscall(SYS_setsockopt, file, level, name, value, length);
}

/* All that is wanted, on a TCP socket. */
static void apply(int file) {
    int before = errno;
    if (wanted.nodelay >= 0) set(file, IPPROTO_TCP, TCP_NODELAY, &wanted.nodelay, sizeof(int));
    if (wanted.quickack >= 0) set(file, IPPROTO_TCP, TCP_QUICKACK, &wanted.quickack, sizeof(int));
    /* The second call goes beyond net.core.wmem_max and rmem_max, where the process may. */
    if (wanted.send_buffer > 0) {
        set(file, SOL_SOCKET, SO_SNDBUF, &wanted.send_buffer, sizeof(int));
        set(file, SOL_SOCKET, SO_SNDBUFFORCE, &wanted.send_buffer, sizeof(int));
    }
    if (wanted.receive_buffer > 0) {
        set(file, SOL_SOCKET, SO_RCVBUF, &wanted.receive_buffer, sizeof(int));
        set(file, SOL_SOCKET, SO_RCVBUFFORCE, &wanted.receive_buffer, sizeof(int));
    }
    if (wanted.pacing) set(file, SOL_SOCKET, SO_MAX_PACING_RATE, &wanted.pacing, sizeof wanted.pacing);
    if (*wanted.congestion) set(file, IPPROTO_TCP, TCP_CONGESTION, wanted.congestion, strlen(wanted.congestion));
    errno = before;
}

static void watch(int file) {
    if (file < 0 || file >= MOST_FILES) return;
    atomic_store_explicit(&connections[file].sends, 0, memory_order_relaxed);
    atomic_store_explicit(&connections[file].receives, 0, memory_order_relaxed);
    atomic_store_explicit(&connections[file].watched, 1, memory_order_relaxed);
}

static int watched(int file) {
    return file >= 0 && file < MOST_FILES && atomic_load_explicit(&connections[file].watched, memory_order_relaxed);
}

/* What TCP_INFO counted on a connection, as one line. Only calls that a signal handler may make, and snprintf(). */
static void report(int file) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    char text[300];
    int before = errno;
    memset(&info, 0, sizeof info);
    if (syscall(SYS_getsockopt, file, IPPROTO_TCP, TCP_INFO, &info, &length) == 0) {
        snprintf(text, sizeof text, "%s/%d", wanted.report, (int)getpid());
        int out = (int)syscall(SYS_openat, AT_FDCWD, text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        int bytes = snprintf(text, sizeof text, "%llu %llu %llu %u %d %d\n", (unsigned long long)info.tcpi_busy_time,
                             (unsigned long long)info.tcpi_rwnd_limited, (unsigned long long)info.tcpi_sndbuf_limited,
                             info.tcpi_total_retrans, option_of(file, SO_SNDBUF), option_of(file, SO_RCVBUF));
        if (out >= 0) {
            syscall(SYS_write, out, text, (size_t)bytes);
            syscall(SYS_close, out);
        }
    }
    errno = before;
}

/* Connections that nobody closed. A process that was forked reports those of its parent as well: nothing is closed
 * by it that the parent would not close later, so its lines repeat a part of the parent's. */
__attribute__((destructor)) static void end(void) {
    for (int file = 0; *wanted.report && file < MOST_FILES; file++)
        if (watched(file)) report(file);
}

/* ---- connections ---------------------------------------------------------------------------------- */

int connect(int file, const struct sockaddr *address, socklen_t length) {
    if (!is_tcp(file)) return NEXT(connect)(file, address, length);
    apply(file);
    int result = NEXT(connect)(file, address, length);
    if (result == 0 || errno == EINPROGRESS || errno == EINTR) {
        apply(file);
        watch(file);
    }
    return result;
}

int listen(int file, int backlog) {
    if (is_tcp(file)) apply(file);
    return NEXT(listen)(file, backlog);
}

static int accepted(int file) {
    if (file >= 0 && is_tcp(file)) {
        apply(file);
        watch(file);
    }
    return file;
}

int accept(int file, struct sockaddr *address, socklen_t *length) {
    return accepted(NEXT(accept)(file, address, length));
}

int accept4(int file, struct sockaddr *address, socklen_t *length, int flags) {
    return accepted(NEXT(accept4)(file, address, length, flags));
}

int close(int file) {
    if (watched(file)) {
        if (*wanted.report) report(file);
        atomic_store_explicit(&connections[file].watched, 0, memory_order_relaxed);
    }
    return NEXT(close)(file);
}

static int is_held(int level, int name) {
    if (level == IPPROTO_TCP)
        return (name == TCP_NODELAY && wanted.nodelay >= 0) || (name == TCP_QUICKACK && wanted.quickack >= 0) ||
               (name == TCP_CONGESTION && *wanted.congestion);
    if (level == SOL_SOCKET)
        return ((name == SO_SNDBUF || name == SO_SNDBUFFORCE) && wanted.send_buffer != UNSET) ||
               ((name == SO_RCVBUF || name == SO_RCVBUFFORCE) && wanted.receive_buffer != UNSET) ||
               (name == SO_MAX_PACING_RATE && wanted.pacing);
    return 0;
}

int setsockopt(int file, int level, int name, const void *value, socklen_t length) {
    if (is_held(level, name) && is_tcp(file)) return 0;
    return NEXT(setsockopt)(file, level, name, value, length);
}

/* ---- data ----------------------------------------------------------------------------------------- */

static void wait_if_due(int file, struct pause pause, atomic_uint *count) {
    int before = errno;
    if ((atomic_fetch_add_explicit(count, 1, memory_order_relaxed) + 1) % pause.every == 0 && is_tcp(file)) {
        struct timespec left = {pause.microseconds / 1000000, pause.microseconds % 1000000 * 1000L};
        while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
    }
    errno = before;
}

static void sending(int file, size_t bytes) {
    if (wanted.delay.every && bytes > 0 && bytes <= SMALL && watched(file))
        wait_if_due(file, wanted.delay, &connections[file].sends);
}

static ssize_t received(int file, ssize_t bytes) {
    if (!watched(file)) return bytes;
    if (wanted.quickack >= 0) {
        int before = errno;
        set(file, IPPROTO_TCP, TCP_QUICKACK, &wanted.quickack, sizeof(int));
        errno = before;
    }
    if (wanted.late.every && bytes > 0 && bytes <= SMALL) wait_if_due(file, wanted.late, &connections[file].receives);
    return bytes;
}

static size_t total(const struct iovec *parts, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; parts && i < count; i++) bytes += parts[i].iov_len;
    return bytes;
}

ssize_t write(int file, const void *data, size_t bytes) {
    sending(file, bytes);
    return NEXT(write)(file, data, bytes);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    if (watched(file) && count > 0) sending(file, total(parts, (size_t)count));
    return NEXT(writev)(file, parts, count);
}

ssize_t send(int file, const void *data, size_t bytes, int flags) {
    sending(file, bytes);
    return NEXT(send)(file, data, bytes, flags);
}

ssize_t sendto(int file, const void *data, size_t bytes, int flags, const struct sockaddr *to, socklen_t length) {
    sending(file, bytes);
    return NEXT(sendto)(file, data, bytes, flags, to, length);
}

ssize_t sendmsg(int file, const struct msghdr *message, int flags) {
    if (watched(file) && message) sending(file, total(message->msg_iov, message->msg_iovlen));
    return NEXT(sendmsg)(file, message, flags);
}

ssize_t read(int file, void *data, size_t bytes) {
    return received(file, NEXT(read)(file, data, bytes));
}

ssize_t readv(int file, const struct iovec *parts, int count) {
    return received(file, NEXT(readv)(file, parts, count));
}

ssize_t recv(int file, void *data, size_t bytes, int flags) {
    return received(file, NEXT(recv)(file, data, bytes, flags));
}

ssize_t recvfrom(int file, void *data, size_t bytes, int flags, struct sockaddr *from, socklen_t *length) {
    return received(file, NEXT(recvfrom)(file, data, bytes, flags, from, length));
}

ssize_t recvmsg(int file, struct msghdr *message, int flags) {
    return received(file, NEXT(recvmsg)(file, message, flags));
}

/* What -D_FORTIFY_SOURCE makes of read() and recv(). */
ssize_t __read_chk(int file, void *data, size_t bytes, size_t room) {
    (void)room;
    return read(file, data, bytes);
}

ssize_t __recv_chk(int file, void *data, size_t bytes, size_t room, int flags) {
    (void)room;
    return recv(file, data, bytes, flags);
}

ssize_t __recvfrom_chk(int file, void *data, size_t bytes, size_t room, int flags, struct sockaddr *from,
                       socklen_t *length) {
    (void)room;
    return recvfrom(file, data, bytes, flags, from, length);
}
