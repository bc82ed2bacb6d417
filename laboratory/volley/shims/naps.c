/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that sleeps now and then by itself, as a runtime with a collector of garbage or a progress thread may do:
 * operations come late, and no other program and no scheduler has to do with it.
 *
 * VOLLEY_SHIM_NAPS=EVERY,LONG (milliseconds): the rank sleeps LONG after each EVERY of its running. Only in processes
 * that a launcher has made ranks of (PMI_RANK, PMIX_RANK).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static struct timespec nap;

static void sleep_a_while(int number) {
    int saved = errno;
    struct timespec left = nap;
    (void)number;
    while (nanosleep(&left, &left) != 0) {}
    errno = saved;
}

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("VOLLEY_SHIM_NAPS");
    long every, length;
    if (!text || sscanf(text, "%ld,%ld", &every, &length) != 2 || every < 1 || length < 1) return;
    if (!getenv("PMI_RANK") && !getenv("PMIX_RANK")) return;
    nap.tv_sec = length / 1000;
    nap.tv_nsec = length % 1000 * 1000000;
    struct sigaction action = {.sa_handler = sleep_a_while, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    struct itimerval timer = {{every / 1000, every % 1000 * 1000}, {every / 1000, every % 1000 * 1000}};
    setitimer(ITIMER_PROF, &timer, NULL);
}
