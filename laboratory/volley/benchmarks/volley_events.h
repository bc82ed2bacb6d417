/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the processor and the kernel count of this rank's thread while it measures (perf_event_open(2)), where the
 * machine has such counters and lets us use them. They are read before and after a point, never within.
 * Part of the frame; tests include volley_test.h.
 */
#ifndef VOLLEY_EVENTS_H
#define VOLLEY_EVENTS_H

#include "volley_samples.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>

#define VOLLEY_READ_MISSES(cache)                                                                                      \
    ((cache) | (PERF_COUNT_HW_CACHE_OP_READ << 8) | (PERF_COUNT_HW_CACHE_RESULT_MISS << 16))

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} volley_events[] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"first_level_misses", PERF_TYPE_HW_CACHE, VOLLEY_READ_MISSES(PERF_COUNT_HW_CACHE_L1D)},
    {"last_level_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
};
enum { VOLLEY_EVENTS = sizeof volley_events / sizeof *volley_events };

static int volley_event_files[VOLLEY_EVENTS];

struct volley_counts {
    double of[VOLLEY_EVENTS];
};

/** A descriptor, or -1 with errno. The kernel's part is left out where perf_event_paranoid forbids it. */
static inline int volley_open_event(uint32_t type, uint64_t config) {
    struct perf_event_attr wanted = {
        .type = type,
        .size = sizeof wanted,
        .config = config,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .exclude_hv = 1,
    };
    long file = syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0 && (errno == EACCES || errno == EPERM)) {
        wanted.exclude_kernel = 1;
        file = syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return (int)file;
}

/** If launch.txt asks for it; says which events cannot be counted, and why. */
static inline void volley_start_events(void) {
    for (int i = 0; i < VOLLEY_EVENTS; i++) {
        volley_event_files[i] = -1;
        if (!volley.count_events) continue;
        volley_event_files[i] = volley_open_event(volley_events[i].type, volley_events[i].config);
        if (volley_event_files[i] < 0)
            volley_fact("{\"fact\": \"not_counted\", \"event\": \"%s\", \"reason\": \"%s\"}", volley_events[i].name,
                        strerror(errno));
    }
}

/** Since volley_start_events(); NAN for what is not counted. */
static inline struct volley_counts volley_read_events(void) {
    struct volley_counts counts;
    for (int i = 0; i < VOLLEY_EVENTS; i++) {
        uint64_t read_out[3] = {0}; /* value, ns enabled, ns running: fewer where events take turns in one counter */
        counts.of[i] = __builtin_nan("");
        if (volley_event_files[i] >= 0 && read(volley_event_files[i], read_out, sizeof read_out) == sizeof read_out &&
            read_out[2] > 0)
            counts.of[i] = (double)read_out[0] * ((double)read_out[1] / (double)read_out[2]);
    }
    return counts;
}

/** Says what was counted since `before`, which so many operations of a point have caused; nothing if nothing was. */
static inline void volley_say_events(const struct volley_point *point, uint64_t operations,
                                     const struct volley_counts *before) {
    struct volley_counts after = volley_read_events();
    char said[512] = "";
    size_t length = 0;
    for (int i = 0; i < VOLLEY_EVENTS; i++)
        if (after.of[i] >= before->of[i])
            length += (size_t)snprintf(said + length, sizeof said - length, ", \"%s\": %.0f", volley_events[i].name,
                                       after.of[i] - before->of[i]);
    if (length > 0)
        volley_fact("{\"fact\": \"counted\", \"size\": %" PRIu64 ", \"variant\": \"%s\", \"operations\": %" PRIu64
                    "%s}",
                    point->size, point->variant, operations, said);
}

#endif
