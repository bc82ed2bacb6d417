/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Hello"
summary = "Every rank exchanges a message with every other: is every pair intact, and how long does the round take?"
source = "all2all.c (2005), option 1: Hello, network integrity"
pattern = "many"
ranks = [2, 4]
sizes = "8,1Ki,128Ki"
operation = "slowest rank"
traffic = "all pairs"
neighbours = false
maximum_repetitions = 200
*/
#include "volley_test.h"

/* At distance d every rank sends to the d-th after it and receives from the d-th before it. */
static int receiver_at(int distance) {
    return (volley.rank + distance) % volley.ranks;
}

static int sender_at(int distance) {
    return (volley.rank - distance + volley.ranks) % volley.ranks;
}

static void exchange(int distance, void *outgoing, void *incoming, int bytes) {
    MPI_Sendrecv(outgoing, bytes, MPI_BYTE, receiver_at(distance), 1, incoming, bytes, MPI_BYTE, sender_at(distance), 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* What the message from one rank to another must contain: different for every ordered pair. */
static uint64_t salt_of_pair(int to, uint64_t bytes) {
    return bytes * 4096 + (uint64_t)to;
}

/* A pair that never answers is named by the phase, which a freeze reports. */
static uint64_t check(const struct volley_point *point) {
    static char phase[96];
    size_t bytes = point->size;
    void *outgoing = volley_buffer(0, bytes), *incoming = volley_buffer(1, bytes);
    uint64_t wrong = 0;
    for (int distance = 1; distance < volley.ranks; distance++) {
        int to = receiver_at(distance), from = sender_at(distance);
        snprintf(phase, sizeof phase, "hello to rank %d and from rank %d", to, from);
        volley_phase(phase);
        volley_fill(outgoing, bytes, volley.rank, salt_of_pair(to, bytes));
        volley_poison(incoming, bytes, from, salt_of_pair(volley.rank, bytes));
        exchange(distance, outgoing, incoming, (int)bytes);
        uint64_t wrong_bytes = volley_wrong(incoming, bytes, from, salt_of_pair(volley.rank, bytes));
        if (wrong_bytes)
            volley_fact(
                "{\"fact\": \"pair_mismatch\", \"from\": %d, \"to\": %d, \"size\": %zu, \"wrong_bytes\": %" PRIu64 "}",
                from, volley.rank, bytes, wrong_bytes);
        wrong += wrong_bytes;
    }
    volley_phase("check");
    return wrong;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    void *outgoing = volley_buffer(0, point->size), *incoming = volley_buffer(1, point->size);
    uint64_t start = volley_now();
    for (uint64_t i = 0; i < repetitions; i++) {
        for (int distance = 1; distance < volley.ranks; distance++)
            exchange(distance, outgoing, incoming, (int)point->size);
        uint64_t end = volley_now();
        volley_record(start, end);
        start = end;
    }
}

VOLLEY_TEST(check, measure)
