/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Late receiver"
summary = "How long MPI_Send stands while the receiver computes outside MPI, and up to which size, to the byte, it
returns." source = "field/measurement-tools.md section 4: ping-pong receivers always poll, so no known benchmark sees
this" ranks = [2] sizes = "8Mi" operation = "rank 0" neighbours = false minimum_repetitions = 1 maximum_repetitions = 1
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
 * The state probed is that of a pair that has talked: WARM_UP messages each way come first, because an MPI may set
 * up its fast path only after some (Open MPI its "fast boxes" after 16). */
enum { WARM_UP = 32, REPEATS = 3, MORE_REPEATS = 6, SETTLE_NS = 4000000, ABSENT_NS = 4000000 };

/* The receiver stays away for long enough that an early return cannot be a matter of copying: 2 ns per byte. */
static const double absent_ns_per_byte = 2;

static struct {
    uint64_t stood, absent, size;
} longest; /* the send that stood longest, and how long the receiver was absent after it began, in ticks */

/* Away from MPI: computing if there is a core for each rank, else asleep (or one would keep the other from it). */
static void stay_away_until(uint64_t deadline) {
    const struct timespec nap = {.tv_nsec = 50000};
    while (volley_now() < deadline)
        if (volley_cores() < 2) nanosleep(&nap, NULL);
}

/* Whether a send of `bytes` returned while the receiver was away; the same answer on both ranks. */
static int send_returns(void *buffer, uint64_t bytes) {
    uint64_t begin = volley_maximum(volley_now()), started = 0, sent = 0, entered = 0;
    uint64_t go = begin + volley_ticks_in(SETTLE_NS);
    if (volley.rank == 0) {
        stay_away_until(go);
        started = volley_now();
        MPI_Send(buffer, (int)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        sent = volley_now();
        volley_record(started, sent);
    } else {
        stay_away_until(go + volley_ticks_in(ABSENT_NS + absent_ns_per_byte * (double)bytes));
        entered = volley_now();
        MPI_Recv(buffer, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        volley_record(begin, entered);
    }
    started = volley_maximum(started);
    sent = volley_maximum(sent);
    entered = volley_maximum(entered);
    if (sent - started > longest.stood) {
        longest.stood = sent - started;
        longest.absent = entered - started;
        longest.size = bytes;
    }
    return sent < entered;
}

/* The decision for one size: that of REPEATS probes if they agree, else of the majority of more. */
static int decide(void *buffer, uint64_t bytes) {
    int returned = 0, probes = 0;
    volley_begin_block(volley.current_point, bytes);
    while (probes < REPEATS || (probes < REPEATS + MORE_REPEATS && returned != 0 && returned != probes)) {
        returned += send_returns(buffer, bytes);
        probes++;
    }
    if (volley.rank == 0 && returned != 0 && returned != probes)
        volley_fact("{\"fact\": \"limit_uncertain\", \"size\": %" PRIu64 ", \"returned\": %d, \"probes\": %d}", bytes,
                    returned, probes);
    return 2 * returned > probes;
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
