/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Sendrecv"
summary = "Two ranks exchange messages with MPI_Sendrecv, both directions at once; bandwidth counts both."
source = "Lockless MPI, its benchmark page: local Sendrecv bandwidth by message size"
pattern = "messages"
cold = true
ranks = [2]
sizes = "1..8Mi"
operation = "slowest rank"
traffic = "every rank"
*/
#include "volley_test.h"

static void exchange(void *outgoing, void *incoming, int bytes) {
    int peer = 1 - volley.rank;
    MPI_Sendrecv(outgoing, bytes, MPI_BYTE, peer, 1, incoming, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static uint64_t check(const struct volley_point *point) {
    void *outgoing = volley_buffer(0, point->size), *incoming = volley_buffer(1, point->size);
    volley_fill(outgoing, point->size, volley.rank, point->size);
    volley_poison(incoming, point->size, 1 - volley.rank, point->size);
    exchange(outgoing, incoming, (int)point->size);
    return volley_wrong(incoming, point->size, 1 - volley.rank, point->size);
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    void *outgoing = volley_buffer(0, point->size), *incoming = volley_buffer(1, point->size);
    uint64_t start = volley_now();
    for (uint64_t i = 0; i < repetitions; i++) {
        if (volley.cold_bytes) outgoing = volley_buffer(0, point->size), incoming = volley_buffer(1, point->size);
        start = volley_next(start, 0);
        exchange(outgoing, incoming, (int)point->size);
        uint64_t end = volley_now();
        volley_record(start, end);
        start = end;
    }
}

VOLLEY_TEST(check, measure)
