/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Doorstep"
summary = "A made-up test: work whose time grows with the size, and a wait above a limit that its system sets."
source = "tests/laboratory/test_one_file_each.py"
needs_mpi = false
pattern = "messages"
ranks = [2]
sizes = "1..64Ki"
operation = "rank 0"
neighbours = false
*/
#define VOLLEY_NO_MPI
#include "volley_test.h"

enum { WAIT_NS = 20000 };

static uint64_t waits;

static uint64_t check(const struct volley_point *point) {
    (void)point;
    return 0;
}

static void say(const struct volley_point *point) {
    volley_fact("{\"fact\": \"waits\", \"size\": %" PRIu64 ", \"waits\": %" PRIu64 "}", point->size, waits);
    waits = 0;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    const char *limit = getenv("MADE_UP_LIMIT");
    int long_way = limit && point->size > strtoull(limit, NULL, 10);
    volley.end_of_point = say;
    for (uint64_t i = 0; i < repetitions; i++) {
        uint64_t start = volley_now();
        uint64_t end = start + volley_ticks_in(5000.0 + 0.2 * (double)point->size + (long_way ? WAIT_NS : 0));
        waits += (uint64_t)long_way;
        while (volley_now() < end) {}
        volley_record(start, volley_now());
    }
}

VOLLEY_TEST(check, measure)
