/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs on every host while a study lasts, and answers single bytes on its standard input:
 *
 *   t   CLOCK_MONOTONIC, as 8 bytes (ns, the host's byte order)
 *   c   the kernel's counters: 4 bytes of length, then the text of FILES
 *   p   followed by two CPUs, 4 bytes each: the state they are in, as struct probe_answer (probe.h)
 *
 * Between questions it sleeps in read(). It ends with its standard input: nothing of it stays behind.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

static const char *const FILES[] = {"/proc/net/netstat", "/proc/net/snmp", "/proc/net/dev", "/proc/stat"};

static int say(const void *what, size_t bytes) {
    const char *from = what;
    while (bytes > 0) {
        ssize_t written = write(STDOUT_FILENO, from, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return -1;
        from += written;
        bytes -= (size_t)written;
    }
    return 0;
}

static int say_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return say(&ns, sizeof ns);
}

static int say_counters(void) {
    static char text[1 << 20];
    uint32_t length = 0;
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        int file = open(FILES[i], O_RDONLY | O_CLOEXEC);
        if (file < 0) continue; /* a kernel without it says nothing of it */
        ssize_t got;
        while (length < sizeof text && (got = read(file, text + length, sizeof text - length)) > 0)
            length += (uint32_t)got;
        close(file);
    }
    return say(&length, sizeof length) || say(text, length);
}

static int say_state(void) {
    uint32_t cpus[2];
    size_t have = 0;
    while (have < sizeof cpus) {
        ssize_t got = read(STDIN_FILENO, (char *)cpus + have, sizeof cpus - have);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return -1;
        have += (size_t)got;
    }
    struct probe_answer answer = probe_cpus(cpus[0], cpus[1]);
    return say(&answer, sizeof answer);
}

static int answer_to(char question) {
    switch (question) {
    case 't':
        return say_time();
    case 'c':
        return say_counters();
    case 'p':
        return say_state();
    default:
        return -1;
    }
}

int main(void) {
    char question;
    while (read(STDIN_FILENO, &question, 1) == 1)
        if (answer_to(question) != 0) return 1;
    return 0;
}
