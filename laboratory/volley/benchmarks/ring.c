/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Ring"
summary = "One message is passed round all ranks; the time is that of the whole round, the rate counts every hop."
source = "all2all.c (2005), option 2: Ring"
pattern = "messages"
ranks = [2, 4]
sizes = "1..1Mi"
operation = "rank 0"
traffic = "every rank"
*/
#include "volley_test.h"

/* To the left, from the right, as the original passes it. */
static void pass_on(void *buffer, int bytes) {
    int left = (volley.rank + volley.ranks - 1) % volley.ranks;
    MPI_Send(buffer, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD);
}

static void take(void *buffer, int bytes) {
    int right = (volley.rank + 1) % volley.ranks;
    MPI_Recv(buffer, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* What rank 0 sent passes through every rank's memory and must come back unchanged. */
static uint64_t check(const struct volley_point *point) {
    void *buffer = volley_buffer(0, point->size);
    if (volley.rank == 0) {
        volley_fill(buffer, point->size, 0, point->size);
        pass_on(buffer, (int)point->size);
    }
    volley_poison(buffer, point->size, 0, point->size);
    take(buffer, (int)point->size);
    uint64_t wrong = volley_wrong(buffer, point->size, 0, point->size);
    if (volley.rank != 0) pass_on(buffer, (int)point->size);
    return wrong;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    void *buffer = volley_buffer(0, point->size);
    uint64_t start = volley_now();
    for (uint64_t i = 0; i < repetitions; i++) {
        if (volley.rank == 0) pass_on(buffer, (int)point->size);
        take(buffer, (int)point->size);
        if (volley.rank != 0) pass_on(buffer, (int)point->size);
        uint64_t end = volley_now();
        volley_record(start, end);
        start = end;
    }
}

VOLLEY_TEST(check, measure)
