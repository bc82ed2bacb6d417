/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank of a test knows of its launch and of itself, and how it fails.
 * Part of the frame; tests include volley_test.h.
 */
#ifndef VOLLEY_STATE_H
#define VOLLEY_STATE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef VOLLEY_NO_MPI
#include <mpi.h>
#else
#include <pthread.h>
#include <sys/wait.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#define VOLLEY_EXIT_FROZEN 86 /* nothing moved for freeze_seconds */
#define VOLLEY_EXIT_BROKEN 87 /* the frame itself could not work: message on stderr */
#define VOLLEY_TAG 77
#ifndef VOLLEY_SHARED_BYTES
#define VOLLEY_SHARED_BYTES 0 /* a VOLLEY_NO_MPI test may define it before the include */
#endif

/** One thing to measure: a size in bytes (or what the test's axis says) and a variant's name. */
struct volley_point {
    uint64_t size;
    char variant[64];
};

struct volley_sample {
    uint64_t start;
    uint64_t duration;
};

/** A run of samples of one point: samples[first] to samples[first + count - 1]. */
struct volley_block {
    uint32_t point;
    uint64_t size;
    uint64_t first;
    uint64_t count;
};

enum { VOLLEY_BUFFERS = 4, VOLLEY_MAXIMUM_CPUS = 1024, VOLLEY_WATCH_TURNS = 4 };

static struct {
    char folder[3072];
    int rank, ranks;
    /* launch.txt */
    double freeze_seconds, seconds_per_point;
    double limit_seconds; /* since main() began: points not begun by then are cut; 0: no limit */
    uint64_t minimum_repetitions, maximum_repetitions;
    uint64_t launched_ns;
    uint64_t seed;
    /* CLOCK_MONOTONIC when main() began, MPI_Init() returned, and the first MPI_Barrier() returned */
    uint64_t main_ns, init_ns, barrier_ns;
    int count_events;   /* volley_events.h */
    int writes_buffers; /* volley_renew() */
    int cpus[VOLLEY_MAXIMUM_CPUS];
    int cpu_count;
    /* on several hosts, which launch.txt then names */
    int hosts_named;
    char host[64];              /* this rank's, as it calls itself */
    int local_rank, host_count; /* among ranks of this host; hosts that have ranks */
    struct volley_point *points;
    uint32_t point_count;
    /* samples of this rank */
    struct volley_sample *samples;
    uint64_t capacity, count, dropped;
    struct volley_block *blocks;
    uint32_t block_count, block_capacity;
    int block_open;
    /* state, read by the watchdog */
    volatile uint64_t activity;
    const char *volatile phase;
    uint32_t current_point;
    int facts_file;
    /* called after the measured repetitions of a point: closing connections, saying facts */
    void (*end_of_point)(const struct volley_point *point);
    /* clock */
    int use_ticks;
    uint64_t first_tick, first_ns;
    double ticks_per_ns;
    double overhead_ns;
    uint64_t align_ticks;
    size_t shift_bytes; /* of the point's variant "shifted:BYTES", else 0: see volley_buffer() */
    size_t cold_bytes;  /* of the point's variant "cold:BYTES", else 0: see volley_buffer() */
    void *buffers[VOLLEY_BUFFERS];
    size_t buffer_bytes[VOLLEY_BUFFERS];
    size_t asked_bytes[VOLLEY_BUFFERS]; /* at the last volley_buffer() */
#ifdef VOLLEY_NO_MPI
    struct volley_shared *shared;
    void *shared_memory; /* VOLLEY_SHARED_BYTES that all ranks see, zeroed; NULL if the test wants none */
#endif
} volley = {.phase = "start", .facts_file = -1};

__attribute__((noreturn, format(printf, 1, 2))) static inline void volley_die(const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "volley test: rank %d, while in %s: ", volley.rank, volley.phase);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(stderr);
    _exit(VOLLEY_EXIT_BROKEN);
}

#endif
