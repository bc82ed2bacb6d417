/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Every pair"
summary = "Ping-pong between every two ranks, one pair at a time: who is slow to whom? An operation is a round of all."
source = "The rings and hellos of 1999 and 2005 name a bad link only by what they cannot do"
pattern = "many"
ranks = [0]
sizes = "8,64Ki"
traffic = "all pairs"
operation = "slowest rank"
neighbours = false
across_hosts = true
minimum_repetitions = 3
maximum_repetitions = 10
*/
#include "volley_test.h"

enum { BOUNCES = 3 };

/* Best half round trips of this rank to every other, in ns, at the point under way. */
static double *best;

static void bounce(void *buffer, int bytes, int other, int first) {
    if (first) MPI_Send(buffer, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!first) MPI_Send(buffer, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
}

/* All others wait meanwhile in the synchronisation: no pair disturbs another. */
static void round_of_all(void *buffer, int bytes) {
    for (int from = 0; from < volley.ranks; from++)
        for (int to = 0; to < volley.ranks; to++) {
            if (from == to) continue;
            for (int i = 0; i < BOUNCES && (volley.rank == from || volley.rank == to); i++) {
                uint64_t start = volley_now();
                bounce(buffer, bytes, volley.rank == from ? to : from, volley.rank == from);
                double half = volley_ns_in(volley_now() - start) / 2;
                if (volley.rank == from && (best[to] == 0 || half < best[to])) best[to] = half;
            }
            volley_synchronise();
        }
}

static void say_pairs(const struct volley_point *point) {
    for (int to = 0; to < volley.ranks; to++)
        if (to != volley.rank)
            volley_fact("{\"fact\": \"pair\", \"from\": %d, \"to\": %d, \"host\": \"%s\", \"size\": %" PRIu64
                        ", \"half_round_trip_ns\": %.0f}",
                        volley.rank, to, volley.host, point->size, best[to]);
}

static uint64_t check(const struct volley_point *point) {
    size_t bytes = point->size;
    void *buffer = volley_buffer(0, bytes);
    uint64_t wrong = 0;
    free(best);
    best = calloc((size_t)volley.ranks, sizeof *best);
    if (!best) volley_die("no memory for %d pairs", volley.ranks);
    volley.end_of_point = say_pairs;
    for (int distance = 1; distance < volley.ranks; distance++) {
        int to = (volley.rank + distance) % volley.ranks;
        int from = (volley.rank - distance + volley.ranks) % volley.ranks;
        void *incoming = volley_buffer(1, bytes);
        volley_fill(buffer, bytes, volley.rank, (uint64_t)to);
        volley_poison(incoming, bytes, from, (uint64_t)volley.rank);
        MPI_Sendrecv(buffer, (int)bytes, MPI_BYTE, to, 1, incoming, (int)bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        wrong += volley_wrong(incoming, bytes, from, (uint64_t)volley.rank);
    }
    return wrong;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    void *buffer = volley_buffer(0, point->size);
    for (uint64_t i = 0; i < repetitions; i++) {
        uint64_t start = volley_now();
        round_of_all(buffer, (int)point->size);
        volley_record(start, volley_now());
    }
}

VOLLEY_TEST(check, measure)
