/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program on the frame of the tests that behaves as its points' variants say; test_frame.py looks at what the
 * frame makes of it.
 */
#define VOLLEY_NO_MPI
#define VOLLEY_SHARED_BYTES ((size_t)8192)
#include "volley_test.h"

enum { BYTES = 1000 };

static int is(const struct volley_point *point, const char *variant) {
    return !strcmp(point->variant, variant);
}

/* How many of the promises of volley_fill(), volley_poison() and volley_wrong() do not hold. */
static uint64_t broken_promises(void) {
    unsigned char *buffer = volley_buffer(0, BYTES + 16);
    uint64_t broken = 0;
    volley_fill(buffer, BYTES, 3, 5);
    broken += volley_wrong(buffer, BYTES, 3, 5) != 0;
    broken += volley_wrong(buffer, BYTES, 4, 5) < BYTES * 9 / 10;
    broken += volley_wrong(buffer, BYTES, 3, 6) < BYTES * 9 / 10;
    for (size_t shift = 1; shift <= 16; shift++) {
        memmove(buffer + shift, buffer, BYTES);
        broken += volley_wrong(buffer + shift, BYTES, 3, 5) != 0;
        broken += volley_wrong(buffer, BYTES, 3, 5) < BYTES * 9 / 10;
        volley_fill(buffer, BYTES, 3, 5);
    }
    for (size_t i = 0; i < BYTES; i++) {
        buffer[i] ^= 1;
        broken += volley_wrong(buffer, BYTES, 3, 5) != 1;
        buffer[i] ^= 1;
    }
    for (size_t bytes = 0; bytes < 40; bytes++) {
        buffer[bytes] = 0xEE;
        volley_fill(buffer, bytes, 1, bytes);
        broken += volley_wrong(buffer, bytes, 1, bytes) != 0 || buffer[bytes] != 0xEE;
        volley_poison(buffer, bytes, 1, bytes);
        broken += volley_wrong(buffer, bytes, 1, bytes) != bytes || buffer[bytes] != 0xEE;
    }
    return broken;
}

/* Whether volley_renew() leaves a line, a byte beyond, or another buffer as it should not; without an order to write,
 * whether it writes at all. */
static uint64_t unwritten(void) {
    enum { LINES = 10 };
    unsigned char *other = volley_buffer(1, 1), *buffer = volley_buffer(0, LINES * 64), before[LINES * 64 + 1];
    memcpy(before, buffer, sizeof before);
    unsigned char beside = *other;
    uint64_t wrong = 0;
    volley_renew(0);
    for (size_t line = 0; line < LINES; line++)
        wrong += (memcmp(buffer + line * 64, before + line * 64, 64) != 0) != volley.writes_buffers;
    return wrong + (buffer[LINES * 64] != before[LINES * 64]) + (*other != beside);
}

/* What a rank writes into the shared memory the other sees. */
static uint64_t unshared(void) {
    unsigned char *memory = volley.shared_memory;
    memory[4096 * volley.rank] = (unsigned char)(volley.rank + 1);
    volley_synchronise();
    return memory[0] != 1 || memory[4096] != 2;
}

static uint64_t check(const struct volley_point *point) {
    if (is(point, "wrong")) return volley.rank == 1 ? 3 : 0;
    if (is(point, "pattern")) return broken_promises();
    if (is(point, "shared")) return unshared();
    if (is(point, "written")) return unwritten();
    return 0;
}

enum { PAGES = 10 };

/* So many in each operation. */
static void touch_new_pages(uint64_t operations) {
    size_t bytes = operations * PAGES * 4096;
    volatile char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) volley_die("no memory");
    madvise((void *)pages, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += 4096) pages[i] = 1;
    munmap((void *)pages, bytes);
}

static void say_end(const struct volley_point *point) {
    volley_fact("{\"fact\": \"end_of_point\", \"size\": %" PRIu64 "}", point->size);
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    volley.end_of_point = is(point, "end") ? say_end : NULL;
    if (is(point, "crash") && volley.rank == 1) abort();
    if (is(point, "flood")) {
        while (!volley.dropped) volley_record(volley_now(), volley_now());
        return;
    }
    if (is(point, "faults")) touch_new_pages(repetitions);
    if (is(point, "blocks")) volley_begin_block(volley.current_point, 77);
    for (uint64_t i = 0; i < repetitions; i++) {
        volley_align();
        uint64_t start = volley_now();
        if (is(point, "slow")) usleep(20000);
        if (is(point, "freeze") && i == 4 && volley.rank == 1)
            for (;;) pause();
        if (is(point, "nanoseconds"))
            volley_record_ns(volley.main_ns - 1000000000, volley.main_ns + 500000000);
        else
            volley_record(start, volley_now());
    }
}

VOLLEY_TEST(check, measure)
