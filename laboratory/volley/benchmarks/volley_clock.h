/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The clock: ticks where they may be trusted, and how they become nanoseconds.
 * Part of the frame; tests include volley_test.h.
 */
#ifndef VOLLEY_CLOCK_H
#define VOLLEY_CLOCK_H

#include "volley_state.h"

static inline uint64_t volley_monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** Ticks now. rdtscp waits until earlier instructions have completed, so that an operation's loads are
 *  inside its interval; later ones may start before it by a few cycles, which is part of overhead_ns. */
static inline uint64_t volley_now(void) {
#if defined(__x86_64__)
    if (__builtin_expect(volley.use_ticks, 1)) {
        unsigned int cpu;
        return __rdtscp(&cpu);
    }
#elif defined(__aarch64__)
    if (__builtin_expect(volley.use_ticks, 1)) {
        uint64_t ticks;
        __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
        return ticks;
    }
#endif
    return volley_monotonic_ns();
}

/** Whether the tick counter may serve as clock for all cores: invariant by CPUID, and the kernel still
 *  lists it as a clock source (it strikes the counter off when cores disagree). */
static inline int volley_ticks_usable(void) {
#if defined(__x86_64__)
    unsigned int a, b, c, d;
    if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & (1u << 8))) return 0;
    char sources[256] = "";
    int file = open("/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY);
    if (file < 0) return 0;
    ssize_t length = read(file, sources, sizeof sources - 1);
    close(file);
    return length > 0 && strstr(sources, "tsc") != NULL;
#elif defined(__aarch64__)
    return 1; /* the generic timer is one system-wide counter (Arm ARM, D12.1) */
#else
    return 0;
#endif
}

/** A pair (ticks, CLOCK_MONOTONIC ns) taken together: the closest of several tries. */
static inline void volley_clock_pair(uint64_t *ticks, uint64_t *ns) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t before = volley_now(), middle = volley_monotonic_ns(), after = volley_now();
        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = middle;
        }
    }
}

#endif
