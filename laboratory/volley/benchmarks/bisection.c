/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Bisection"
summary = "Every rank of one half exchanges messages with its partner in the other half, all pairs at once, both ways."
source = "Effective bisection bandwidth (Hoefler, Schneider, Lumsdaine 2008), with one fixed pairing"
pattern = "many"
ranks = [0]
sizes = "1..4Mi"
operation = "slowest rank"
traffic = "both halves"
buffers = "one message"
neighbours = false
across_hosts = true
minimum_repetitions = 5
seconds_per_point = 0.1
*/
#include "volley_test.h"

/* Of an odd number the last has no partner, and waits. */
static int partner(void) {
    int half = volley.ranks / 2;
    if (volley.rank >= 2 * half) return MPI_PROC_NULL;
    return volley.rank < half ? volley.rank + half : volley.rank - half;
}

static void exchange(void *outgoing, void *incoming, int bytes) {
    MPI_Sendrecv(outgoing, bytes, MPI_BYTE, partner(), 1, incoming, bytes, MPI_BYTE, partner(), 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static uint64_t check(const struct volley_point *point) {
    size_t bytes = point->size;
    void *outgoing = volley_buffer(0, bytes), *incoming = volley_buffer(1, bytes);
    volley_fill(outgoing, bytes, volley.rank, bytes);
    if (partner() != MPI_PROC_NULL) volley_poison(incoming, bytes, partner(), bytes);
    exchange(outgoing, incoming, (int)bytes);
    return partner() != MPI_PROC_NULL ? volley_wrong(incoming, bytes, partner(), bytes) : 0;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    void *outgoing = volley_buffer(0, point->size), *incoming = volley_buffer(1, point->size);
    for (uint64_t i = 0; i < repetitions; i++) {
        volley_renew(0);
        volley_synchronise();
        uint64_t start = volley_now();
        exchange(outgoing, incoming, (int)point->size);
        volley_record(start, volley_now());
    }
}

VOLLEY_TEST(check, measure)
