/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In which state two CPUs are, in about a millisecond: how long a cache line takes between them, how fast one copies
 * what the other has written, and how fast each computes. The host of a virtual machine moves its processors now and
 * then; for seconds everything takes two to three times as long, and nothing in the machine says so but this.
 *
 * Each number is the quickest of many short turns: an interrupt or another program costs turns, not the number. What
 * could not be had within PROBE_LIMIT_NS is 0.
 */
#ifndef VOLLEY_PROBE_H
#define VOLLEY_PROBE_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum {
    PROBE_BURSTS = 24, /* of PROBE_ROUND_TRIPS each: 24 * 40 * 0.2 us are 0.2 ms */
    PROBE_ROUND_TRIPS = 40,
    PROBE_COPIES = 12,
    PROBE_BYTES = 65536, /* more than a first-level cache, less than any second-level one */
    PROBE_LOOPS = 8,
    PROBE_STEPS = 20000,      /* of a chain of additions, one cycle each: some 7 us */
    PROBE_LIMIT_NS = 30000000 /* a CPU that others use comes back after a few time slices */
};

struct probe_answer {
    double line_ns; /* one way */
    double copy_ns; /* of PROBE_BYTES that the other CPU has just written */
    double step_ns; /* of the slower of both CPUs */
};

struct probe {
    _Alignas(64) _Atomic uint32_t turn;
    _Alignas(64) unsigned char written[PROBE_BYTES];
    unsigned char copied[PROBE_BYTES];
    uint64_t deadline_ns;
    unsigned other_cpu;
    double other_step_ns;
    sem_t ready; /* the other side has computed: meanwhile this one sleeps, as both may share one core's units */
};

static inline uint64_t probe_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline int probe_bind(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* Whether the other side's turn came; it looks at the clock now and then only. */
static inline int probe_await(struct probe *probe, uint32_t turn) {
    for (unsigned spins = 1; atomic_load_explicit(&probe->turn, memory_order_acquire) != turn; spins++)
        if (spins % 4096 == 0 && probe_now_ns() > probe->deadline_ns) return 0;
    return 1;
}

static inline double probe_step_ns(void) {
    double best = 0;
    for (int i = 0; i < PROBE_LOOPS; i++) {
        uint64_t start = probe_now_ns(), sum = start;
        for (int step = 0; step < PROBE_STEPS; step++) {
            sum += (uint64_t)step;
            __asm__ volatile("" : "+r"(sum)); /* one addition after the other, whatever the compiler knows */
        }
        double each = (double)(probe_now_ns() - start) / PROBE_STEPS;
        if (i == 0 || each < best) best = each;
    }
    return best;
}

/* Turns are odd for this side, even for the first. */
static inline void *probe_other_side(void *argument) {
    struct probe *probe = argument;
    uint32_t turn = 1;
    int bound = probe_bind(probe->other_cpu) == 0;
    if (bound) probe->other_step_ns = probe_step_ns();
    sem_post(&probe->ready);
    if (!bound) return NULL;
    for (int i = 0; i < PROBE_BURSTS * PROBE_ROUND_TRIPS; i++, turn += 2) {
        if (!probe_await(probe, turn)) return NULL;
        atomic_store_explicit(&probe->turn, turn + 1, memory_order_release);
    }
    for (int i = 0; i < PROBE_COPIES; i++, turn += 2) {
        if (!probe_await(probe, turn)) return NULL;
        memset(probe->written, i, sizeof probe->written);
        atomic_store_explicit(&probe->turn, turn + 1, memory_order_release);
    }
    return NULL;
}

static inline double probe_line_ns(struct probe *probe, uint32_t *turn) {
    double best = 0;
    for (int burst = 0; burst < PROBE_BURSTS; burst++) {
        uint64_t start = probe_now_ns();
        for (int i = 0; i < PROBE_ROUND_TRIPS; i++, *turn += 2) {
            atomic_store_explicit(&probe->turn, *turn + 1, memory_order_release);
            if (!probe_await(probe, *turn + 2)) return 0;
        }
        double each = (double)(probe_now_ns() - start) / PROBE_ROUND_TRIPS / 2;
        if (burst == 0 || each < best) best = each;
    }
    return best;
}

static inline double probe_copy_ns(struct probe *probe, uint32_t *turn) {
    double best = 0;
    for (int i = 0; i < PROBE_COPIES; i++, *turn += 2) {
        atomic_store_explicit(&probe->turn, *turn + 1, memory_order_release);
        if (!probe_await(probe, *turn + 2)) return 0;
        uint64_t start = probe_now_ns();
        memcpy(probe->copied, probe->written, sizeof probe->written);
        __asm__ volatile("" : : "r"(probe->copied) : "memory");
        double took = (double)(probe_now_ns() - start);
        if (i == 0 || took < best) best = took;
    }
    return best;
}

/** Both may be one CPU: then there is nothing between two to measure. */
static inline struct probe_answer probe_cpus(unsigned cpu, unsigned other) {
    static struct probe probe;
    struct probe_answer answer = {0, 0, 0};
    cpu_set_t before;
    pthread_t thread;
    uint32_t turn = 0;
    if (sched_getaffinity(0, sizeof before, &before) || probe_bind(cpu)) return answer;
    answer.step_ns = probe_step_ns();
    atomic_store(&probe.turn, 0);
    probe.other_cpu = other;
    probe.other_step_ns = 0;
    probe.deadline_ns = probe_now_ns() + PROBE_LIMIT_NS;
    sem_init(&probe.ready, 0, 0);
    if (cpu != other && pthread_create(&thread, NULL, probe_other_side, &probe) == 0) {
        while (sem_wait(&probe.ready) != 0) {}
        answer.line_ns = probe_line_ns(&probe, &turn);
        answer.copy_ns = answer.line_ns > 0 ? probe_copy_ns(&probe, &turn) : 0;
        pthread_join(thread, NULL);
        if (probe.other_step_ns > answer.step_ns) answer.step_ns = probe.other_step_ns;
    }
    sched_setaffinity(0, sizeof before, &before);
    return answer;
}

#endif
