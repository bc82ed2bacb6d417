/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Samples, blocks of them, facts, and how they reach the disk.
 * Part of the frame; tests include volley_test.h.
 */
#ifndef VOLLEY_SAMPLES_H
#define VOLLEY_SAMPLES_H

#include "volley_clock.h"

/** Learns ticks_per_ns from the launch's first clock pair and one some milliseconds later: each pair is good to
 *  some ten ns, so the rate is good to about ten parts in a million. (Durations in the files stay in ticks; the
 *  laboratory converts them by the first and last pair of the whole launch.) */
static inline void volley_measure_rate(void) {
    enum { LEAST_NS = 5000000 };
    uint64_t ticks = 0, ns = 0;
    while (volley_monotonic_ns() < volley.first_ns + LEAST_NS) {}
    volley_clock_pair(&ticks, &ns);
    volley.ticks_per_ns = (double)(ticks - volley.first_tick) / (double)(ns - volley.first_ns);
}

static inline uint64_t volley_ticks_in(double nanoseconds) {
    return (uint64_t)(nanoseconds * volley.ticks_per_ns);
}

static inline double volley_ns_in(uint64_t ticks) {
    return (double)ticks / volley.ticks_per_ns;
}

/** Keeps one operation's start and end (both from volley_now()). */
static inline void volley_record(uint64_t start, uint64_t end) {
    uint64_t index = volley.count;
    if (__builtin_expect(index < volley.capacity, 1)) {
        volley.samples[index].start = start;
        volley.samples[index].duration = end - start;
        volley.count = index + 1;
    } else
        volley.dropped++;
    volley.activity++;
}

/** The same for events that only volley_monotonic_ns() saw, such as those before this process began. */
static inline void volley_record_ns(uint64_t start_ns, uint64_t end_ns) {
    double after_first = (double)((int64_t)start_ns - (int64_t)volley.first_ns);
    uint64_t start = volley.first_tick + (uint64_t)(int64_t)(after_first * volley.ticks_per_ns);
    volley_record(start, start + volley_ticks_in((double)(end_ns - start_ns)));
}

/** Memory of at least `bytes`, page-aligned, touched, kept between points; contents undefined.
 *
 * In a variant "cold:BYTES", which experiments use (`volley explain`), each operation gets another place among so many
 * bytes, so that none is in a cache when its turn comes: ask for it anew for every operation. In "shifted:BYTES" buffer
 * 1 begins so many bytes behind a page's beginning, buffer 2 twice as many. */
static inline void *volley_buffer(int index, size_t bytes) {
    size_t stride = (bytes + 63) & ~(size_t)63, places = stride && volley.cold_bytes ? volley.cold_bytes / stride : 0;
    volley.asked_bytes[index] = bytes;
    size_t shift = (size_t)index * volley.shift_bytes;
    size_t wanted = ((places > 1 ? places * stride : bytes) + shift + 4096 + 4095) & ~(size_t)4095;
    if (volley.buffer_bytes[index] < wanted) {
        if (volley.buffers[index]) munmap(volley.buffers[index], volley.buffer_bytes[index]);
        void *memory = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) volley_die("no memory for a buffer of %zu bytes: %s", wanted, strerror(errno));
        memset(memory, 0, wanted);
        volley.buffers[index] = memory;
        volley.buffer_bytes[index] = wanted;
    }
    if (places <= 1) return (unsigned char *)volley.buffers[index] + shift;
    return (unsigned char *)volley.buffers[index] + volley.count % places * stride;
}

/** Writes every line (64 bytes) of what volley_buffer(index) gave last, where launch.txt says so. Programs compute what
 *  they send; a buffer sent again and again without a change lies in the receiver's cache, too, which flatters. To be
 *  called outside what is timed. */
static inline void volley_renew(int index) {
    if (!volley.writes_buffers || volley.cold_bytes) return; /* cold ones are no longer in any cache */
    volatile unsigned char *buffer = (unsigned char *)volley.buffers[index] + (size_t)index * volley.shift_bytes;
    for (size_t i = 0; i < volley.asked_bytes[index]; i += 64) buffer[i]++;
}

static inline void volley_allocate_samples(void) {
    volley.capacity = (uint64_t)volley.point_count * (volley.maximum_repetitions + 64) + 4096;
    size_t bytes = volley.capacity * sizeof(struct volley_sample);
    volley.samples = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (volley.samples == MAP_FAILED)
        volley_die("no memory for %" PRIu64 " samples: %s", volley.capacity, strerror(errno));
    volley.block_capacity = 4 * volley.point_count + 1024;
    volley.blocks = calloc(volley.block_capacity, sizeof *volley.blocks);
    if (!volley.blocks) volley_die("no memory for the table of blocks");
}

static inline void volley_end_block(void) {
    if (!volley.block_open) return;
    struct volley_block *block = &volley.blocks[volley.block_count - 1];
    block->count = volley.count - block->first;
    volley.block_open = 0;
}

/** Samples recorded from now on belong to `point`, at `size` (bisecting tests choose sizes themselves). Ends the
 *  block before; blocks without samples are not written. */
static inline void volley_begin_block(uint32_t point, uint64_t size) {
    volley_end_block();
    if (volley.block_count == volley.block_capacity)
        volley_die("more than %u blocks of samples", volley.block_capacity);
    volley.blocks[volley.block_count++] =
        (struct volley_block){.point = point, .size = size, .first = volley.count, .count = 0};
    volley.block_open = 1;
}

/** Appends one JSON object, given as printf arguments, to this rank's facts. */
__attribute__((format(printf, 1, 2))) static inline void volley_fact(const char *format, ...) {
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof line - 1) volley_die("a fact is longer than %zu bytes", sizeof line);
    line[length++] = '\n';
    if (write(volley.facts_file, line, (size_t)length) != length)
        volley_die("cannot write facts to %s: %s", volley.folder, strerror(errno));
}

static inline void volley_open_facts(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/rank-%d.jsonl", volley.folder, volley.rank);
    volley.facts_file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (volley.facts_file < 0) volley_die("cannot create %s: %s", path, strerror(errno));
}

/** Writes samples and block table. Called at the end, or by the watchdog: only async-signal-safe calls
 *  besides snprintf on local memory. Returns 0, or -1 with errno. */
static inline int volley_save(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/rank-%d.samples", volley.folder, volley.rank);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return -1;
    const char *from = (const char *)volley.samples;
    size_t left = volley.count * sizeof(struct volley_sample);
    while (left > 0) {
        ssize_t written = write(file, from, left);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return -1;
        from += written;
        left -= (size_t)written;
    }
    for (uint32_t i = 0; i < volley.block_count; i++) {
        const struct volley_block *block = &volley.blocks[i];
        if (block->count == 0) continue;
        volley_fact("{\"fact\": \"block\", \"size\": %" PRIu64 ", \"variant\": \"%s\", \"first\": %" PRIu64
                    ", \"count\": %" PRIu64 "}",
                    block->size, volley.points[block->point].variant, block->first, block->count);
    }
    if (volley.dropped)
        volley_fact("{\"fact\": \"samples_dropped\", \"count\": %" PRIu64 ", \"room\": %" PRIu64 "}", volley.dropped,
                    volley.capacity);
    uint64_t ticks = 0, ns = 0;
    volley_clock_pair(&ticks, &ns);
    volley_fact("{\"fact\": \"clock\", \"kind\": \"%s\", \"first_tick\": %" PRIu64 ", \"first_ns\": %" PRIu64
                ", \"last_tick\": %" PRIu64 ", \"last_ns\": %" PRIu64
                ", \"overhead_ns\": %.2f, \"align_ticks\": %" PRIu64 "}",
                volley.use_ticks ? "ticks" : "monotonic", volley.first_tick, volley.first_ns, ticks, ns,
                volley.overhead_ns, volley.align_ticks);
    return close(file);
}

#endif
