/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watchdog: a freeze is saved, told, and ended.
 * Part of the frame; tests include volley_test.h.
 */
#ifndef VOLLEY_WATCHDOG_H
#define VOLLEY_WATCHDOG_H

#include "volley_samples.h"

/** Runs VOLLEY_WATCH_TURNS times in freeze_seconds. If nothing was recorded and no phase began for all of them,
 *  saves what there is, says where it stands, and ends the process: a freeze is a result. It runs inside a signal
 *  handler, at any instruction of the main thread (which hangs) or on a thread of the MPI: only system calls, and
 *  snprintf into local memory, which takes no lock and, for these formats, no heap in glibc and musl. */
static void volley_watch(int signal_number) {
    static uint64_t last_activity = UINT64_MAX;
    static volatile int quiet_turns, ending;
    (void)signal_number;
    if (ending) return; /* on another thread, while the first is in its grace */
    if (volley.activity != last_activity) {
        last_activity = volley.activity;
        quiet_turns = 0;
        return;
    }
    if (++quiet_turns < VOLLEY_WATCH_TURNS || __atomic_exchange_n(&ending, 1, __ATOMIC_ACQ_REL)) return;
    if (volley.facts_file < 0) {
#ifndef VOLLEY_NO_MPI
        if (volley.init_ns == 0) volley.rank = 1000000 + (int)getpid(); /* MPI_Init has not told us yet */
#endif
        volley_open_facts();
    }
    const struct volley_point *point = volley.points ? &volley.points[volley.current_point] : NULL;
    volley_fact("{\"fact\": \"frozen\", \"phase\": \"%s\", \"size\": %" PRIu64
                ", \"variant\": \"%s\", \"after_seconds\": %ld.%03ld}",
                volley.phase, point ? point->size : 0, point ? point->variant : "", (long)volley.freeze_seconds,
                (long)(1000 * volley.freeze_seconds) % 1000);
    if (volley.samples && volley.blocks) {
        if (volley.block_open) /* the block in flight ends where its samples do */
            volley.blocks[volley.block_count - 1].count = volley.count - volley.blocks[volley.block_count - 1].first;
        volley_save();
    }
    /* The launcher kills the other ranks once this one has ended; they see the freeze up to one turn later. */
    double grace = 1.3 * volley.freeze_seconds / VOLLEY_WATCH_TURNS;
    struct timespec rest = {.tv_sec = (time_t)grace};
    rest.tv_nsec = (long)((grace - (double)rest.tv_sec) * 1e9);
    nanosleep(&rest, NULL);
    _exit(VOLLEY_EXIT_FROZEN);
}

static inline void volley_start_watchdog(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = volley_watch;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    double turn = volley.freeze_seconds / VOLLEY_WATCH_TURNS;
    struct itimerval interval;
    interval.it_interval.tv_sec = (time_t)turn;
    interval.it_interval.tv_usec = (suseconds_t)((turn - (double)interval.it_interval.tv_sec) * 1e6);
    interval.it_value = interval.it_interval;
    setitimer(ITIMER_REAL, &interval, NULL);
}

static inline void volley_stop_watchdog(void) {
    struct itimerval never;
    memset(&never, 0, sizeof never);
    setitimer(ITIMER_REAL, &never, NULL);
}

static inline void volley_phase(const char *phase) {
    volley.phase = phase;
    volley.activity++;
}

#endif
