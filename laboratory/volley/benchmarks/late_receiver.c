/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Late receiver"
summary = "How long MPI_Send stands while the receiver computes outside MPI; up to which size, to the byte, it returns."
source = "Lockless MPI's and LAM's pages time receivers that poll; programs compute, and no known benchmark sees it"
pattern = "probe"
ranks = [2]
sizes = "8Mi"
operation = "rank 0"
neighbours = false
ranked = false
minimum_repetitions = 1
maximum_repetitions = 1
*/
#include "volley_test.h"

/* The point's size is the largest that is tried; samples are in blocks of the sizes that were.
 *
 * One probe: both ranks agree on a time; the sender lets SETTLE_NS go by, so that whatever the agreement left in
 * the MPI's buffers is gone (without that, Open MPI's limit of 256 B was seen as 320 to 4040), and sends; the
 * receiver computes, outside MPI, until well after, and only then receives. The send returned early if it ended
 * before the receiver entered MPI_Recv. Everything has been received before the next probe begins, so that a probe
 * finds no other message under way.
 *
 * On a busy machine a probe can be void: the receiver was still on its way out of the agreement when the sender
 * began, or the sender was kept from its core and began when most of the absence was over. Void probes decide nothing
 * and are repeated.
 *
 * Variants besides "-" are for experiments (`volley explain`), not for studies: "polling", where the receiver has
 * posted its receive before it goes away and calls MPI_Test now and then, so that the MPI can move what it has to move;
 * "away3", where it stays away three times as long.
 *
 * The state probed is that of a pair that has talked: WARM_UP messages each way come first, because an MPI may set
 * up its fast path only after some (Open MPI its "fast boxes" after 16). */
enum { WARM_UP = 32, REPEATS = 3, MORE_REPEATS = 6, MOST_VOID = 20 };
enum { SETTLE_NS = 4000000 };
enum outcome { BLOCKED, RETURNED, VOID };

static int is_variant(const char *name) {
    return !strcmp(volley.points[volley.current_point].variant, name);
}

/* How long the receiver stays away once the sender was to begin: so long that neither copying the message (at
 * 0.5 GB/s) nor a slice of the scheduler makes the difference between a send that returns and one that does not. */
static double absence_ns(uint64_t bytes) {
    return (4e6 + 2.0 * (double)bytes) * (is_variant("away3") ? 3 : 1);
}

static struct {
    uint64_t stood, absent, size;
} longest; /* the send that stood longest, and how long the receiver was absent after it began, in ticks */

/* Of a posted receive. Once it is complete, and the request none, that costs next to nothing. */
static void test(void *posted) {
    int arrived;
    MPI_Test(posted, &arrived, MPI_STATUS_IGNORE);
}

/* Sends `bytes` to the absent receiver; the same outcome on both ranks. */
static enum outcome probe(void *buffer, uint64_t bytes) {
    uint64_t begin = volley_maximum(volley_now()), outside = volley_now(), started = 0, sent = 0, entered = 0;
    uint64_t go = begin + volley_ticks_in(SETTLE_NS);
    if (volley.rank == 0) {
        volley_stay_away(go, NULL, NULL);
        started = volley_now();
        MPI_Send(buffer, (int)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        sent = volley_now();
    } else {
        MPI_Request posted = MPI_REQUEST_NULL;
        int polling = is_variant("polling");
        if (polling) MPI_Irecv(buffer, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &posted);
        volley_stay_away(go + volley_ticks_in(absence_ns(bytes)), polling ? test : NULL, &posted);
        entered = volley_now();
        if (polling)
            MPI_Wait(&posted, MPI_STATUS_IGNORE);
        else
            MPI_Recv(buffer, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    outside = volley_maximum(volley.rank == 1 ? outside : 0);
    started = volley_maximum(started);
    sent = volley_maximum(sent);
    entered = volley_maximum(entered);
    volley.activity++;
    if (outside > started) return VOID;
    if (sent >= entered && entered < started + volley_ticks_in(absence_ns(bytes) / 4)) return VOID;
    if (volley.rank == 0)
        volley_record(started, sent);
    else
        volley_record(outside, entered);
    if (sent - started > longest.stood) {
        longest.stood = sent - started;
        longest.absent = entered - started;
        longest.size = bytes;
    }
    return sent < entered ? RETURNED : BLOCKED;
}

/* Whether a send of `bytes` returns: what REPEATS probes say if they agree, else the majority of more. */
static int decide(void *buffer, uint64_t bytes) {
    int of[3] = {0, 0, 0};
    volley_begin_block(volley.current_point, bytes);
    while (of[VOID] < MOST_VOID) {
        int probes = of[BLOCKED] + of[RETURNED], agree = !of[BLOCKED] || !of[RETURNED];
        if (probes >= (agree ? REPEATS : REPEATS + MORE_REPEATS)) break;
        of[probe(buffer, bytes)]++;
    }
    if (volley.rank == 0 && ((of[RETURNED] && of[BLOCKED]) || of[VOID] == MOST_VOID))
        volley_fact("{\"fact\": \"limit_uncertain\", \"size\": %" PRIu64
                    ", \"returned\": %d, \"blocked\": %d, \"void\": %d}",
                    bytes, of[RETURNED], of[BLOCKED], of[VOID]);
    return of[RETURNED] > of[BLOCKED];
}

static void warm_up(void *buffer) {
    for (int i = 0; i < WARM_UP; i++) {
        if (volley.rank == 0) MPI_Send(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buffer, 8, MPI_BYTE, 1 - volley.rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (volley.rank == 1) MPI_Send(buffer, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static uint64_t check(const struct volley_point *point) {
    void *buffer = volley_buffer(0, point->size);
    if (volley.rank == 0) {
        volley_fill(buffer, point->size, 0, point->size);
        MPI_Send(buffer, (int)point->size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        return 0;
    }
    volley_poison(buffer, point->size, 0, point->size);
    MPI_Recv(buffer, (int)point->size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return volley_wrong(buffer, point->size, 0, point->size);
}

/* Largest returning 0: no message of a byte or more returned. Smallest blocking 0: none blocked. */
static void report(uint64_t largest_returning, uint64_t smallest_blocking, uint64_t tried_to) {
    char blocking[32] = "null";
    if (smallest_blocking) snprintf(blocking, sizeof blocking, "%" PRIu64, smallest_blocking);
    if (volley.rank != 0) return;
    volley_fact(
        "{\"fact\": \"limit\", \"largest_returning\": %" PRIu64 ", \"smallest_blocking\": %s, \"tried_to\": %" PRIu64
        ", \"longest_size\": %" PRIu64 ", \"sender_stands_ns\": %.0f, \"receiver_absent_ns\": %.0f}",
        largest_returning, blocking, tried_to, longest.size, volley_ns_in(longest.stood), volley_ns_in(longest.absent));
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    void *buffer = volley_buffer(0, point->size);
    uint64_t returning = 0, blocking = 0;
    (void)repetitions;
    warm_up(buffer);
    for (uint64_t size = 1;; size = 2 * size < point->size ? 2 * size : point->size) {
        if (!decide(buffer, size))
            blocking = blocking ? blocking : size;
        else if (!blocking)
            returning = size;
        else if (volley.rank == 0)
            volley_fact("{\"fact\": \"not_monotone\", \"blocking\": %" PRIu64 ", \"returning\": %" PRIu64 "}", blocking,
                        size);
        if (size >= point->size) break;
    }
    while (returning && blocking && blocking - returning > 1) {
        uint64_t middle = returning + (blocking - returning) / 2;
        if (decide(buffer, middle))
            returning = middle;
        else
            blocking = middle;
    }
    report(returning, blocking, point->size);
}

VOLLEY_TEST(check, measure)
