/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Atomic operations"
summary = "All ranks but the last draw tickets from a word of the last one's memory: what one takes."
source = "MPI 5.0, section 12.3.4; OSU micro-benchmarks: osu_fop_latency, osu_cas_latency"
pattern = "windows"
ranks = [2, 4]
sizes = "8"
operation = "slowest rank"
traffic = "none"
variants = ["fetch_and_op", "compare_and_swap"]
neighbours = false
quick = false
*/
#include "volley_window.h"

/* The next ticket: by one addition, or by compare-and-swap until nobody was in between. */
static uint64_t ticket(const struct volley_point *point, int target) {
    uint64_t one = 1, before = 0;
    if (!strcmp(point->variant, "fetch_and_op")) {
        MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, target, 0, MPI_SUM, shared.window);
        MPI_Win_flush(target, shared.window);
        return before;
    }
    if (strcmp(point->variant, "compare_and_swap"))
        volley_die("unknown variant \"%s\"; there are fetch_and_op and compare_and_swap", point->variant);
    static uint64_t expected;
    for (;;) {
        uint64_t next = expected + 1;
        MPI_Compare_and_swap(&next, &expected, &before, MPI_UINT64_T, target, 0, shared.window);
        MPI_Win_flush(target, shared.window);
        if (before == expected) return expected++;
        expected = before;
    }
}

static void set_counter(uint64_t value) {
    if (volley.rank == volley.ranks - 1) {
        memcpy(volley_window_open(), &value, sizeof value);
        volley_window_close();
    }
    volley_synchronise();
}

/* Tickets of one rank rise, and in the end as many are given out as were asked for. */
static uint64_t check(const struct volley_point *point) {
    enum { TICKETS = 200 };
    int target = volley.ranks - 1;
    uint64_t wrong = 0, last = 0;
    volley_window(sizeof(uint64_t));
    set_counter(1);
    if (volley.rank != target) {
        MPI_Win_lock_all(0, shared.window);
        for (int i = 0; i < TICKETS; i++) {
            uint64_t mine = ticket(point, target);
            wrong += mine <= last;
            last = mine;
        }
        MPI_Win_unlock_all(shared.window);
    }
    volley_synchronise();
    if (volley.rank == target) {
        uint64_t given;
        memcpy(&given, volley_window_open(), sizeof given);
        volley_window_close();
        wrong = given != 1 + (uint64_t)target * TICKETS;
    }
    return wrong;
}

/* An operation is one ticket of each rank; the target waits in MPI. */
static void measure(const struct volley_point *point, uint64_t repetitions) {
    int target = volley.ranks - 1;
    if (volley.rank != target) MPI_Win_lock_all(0, shared.window);
    volley_align();
    for (uint64_t i = 0; i < repetitions && volley.rank != target; i++) {
        uint64_t start = volley_now();
        (void)ticket(point, target);
        volley_record(start, volley_now());
    }
    if (volley.rank != target) MPI_Win_unlock_all(shared.window);
    volley_synchronise();
}

VOLLEY_TEST(check, measure)
