/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults and delays of MPI_Send and MPI_Recv, in every process of a launch. VOLLEY_SHIM_MESSAGES holds words joined by
 * '+':
 *
 *     unheard                the wakes that a rank gives others from inside MPI_Recv (futex(2)) do not reach the
 * kernel: who sleeps until the receiver gives room back sleeps until its own time limit busy:N:MICROSECONDS    every
 * N-th MPI_Recv computes so long before it returns asleep:N:MICROSECONDS  every N-th MPI_Send sleeps so long before it
 * sends
 *
 * Handles of communicators and types are pointers in some MPIs and numbers in others; either is passed on as a machine
 * word.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct every {
    unsigned calls; /* 0: never */
    unsigned microseconds;
};

static struct {
    int unheard;
    struct every busy, asleep;
} wanted;

static __thread int receiving; /* this thread is in MPI_Recv */

static int read_every(const char *word, const char *format, struct every *found) {
    return sscanf(word, format, &found->calls, &found->microseconds) == 2;
}

__attribute__((constructor)) static void begin(void) {
    char words[256];
    const char *text = getenv("VOLLEY_SHIM_MESSAGES");
    if (!text || strlen(text) >= sizeof words) return;
    strcpy(words, text);
    for (char *rest = words, *word; (word = strtok_r(rest, "+", &rest));) {
        if (!strcmp(word, "unheard"))
            wanted.unheard = 1;
        else if (!read_every(word, "busy:%u:%u", &wanted.busy) && !read_every(word, "asleep:%u:%u", &wanted.asleep)) {
            static const char said[] =
                "shims/messages.c: unheard, busy:N:MICROSECONDS or asleep:N:MICROSECONDS expected\n";
            (void)!write(STDERR_FILENO, said, sizeof said - 1);
            _exit(2);
        }
    }
}

static int its_turn(const struct every *one, unsigned *calls) {
    return one->calls && ++*calls % one->calls == 0;
}

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

int MPI_Send(const void *data, int count, void *type, int target, int tag, void *communicator) {
    static int (*next)(const void *, int, void *, int, int, void *);
    static __thread unsigned sent;
    if (!next) next = (int (*)(const void *, int, void *, int, int, void *))dlsym(RTLD_NEXT, "MPI_Send");
    if (its_turn(&wanted.asleep, &sent)) usleep(wanted.asleep.microseconds);
    return next(data, count, type, target, tag, communicator);
}

int MPI_Recv(void *data, int count, void *type, int source, int tag, void *communicator, void *status) {
    static int (*next)(void *, int, void *, int, int, void *, void *);
    static __thread unsigned received;
    if (!next) next = (int (*)(void *, int, void *, int, int, void *, void *))dlsym(RTLD_NEXT, "MPI_Recv");
    receiving = 1;
    int error = next(data, count, type, source, tag, communicator, status);
    receiving = 0;
    if (its_turn(&wanted.busy, &received))
        for (double until = now_us() + wanted.busy.microseconds; now_us() < until;) {}
    return error;
}

/* Libraries call futex(2) by this, as libc has no function of that name. */
long syscall(long number, ...) {
    static long (*next)(long, ...);
    long word[6];
    va_list words;
    va_start(words, number);
    for (int i = 0; i < 6; i++) word[i] = va_arg(words, long);
    va_end(words);
    if (number == SYS_futex && wanted.unheard && receiving) {
        long what = word[1] & FUTEX_CMD_MASK;
        if (what == FUTEX_WAKE || what == FUTEX_WAKE_BITSET) return 0;
    }
    if (!next) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}
