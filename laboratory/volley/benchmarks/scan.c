/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Scan"
summary = "Rank r gets the combination (exclusive or of bytes) of the messages of ranks 0 to r."
source = "Intel MPI Benchmarks: Scan"
pattern = "collective"
cold = true
ranks = [2, 4]
sizes = "1..1Mi"
operation = "span"
traffic = "one message"
quick = false
*/
#include "collective.h"

static void perform(const struct volley_point *point) {
    MPI_Scan(volley_buffer(SEND, point->size), volley_buffer(RECEIVE, point->size), (int)point->size, MPI_BYTE,
             MPI_BXOR, MPI_COMM_WORLD);
}

static uint64_t check(const struct volley_point *point) {
    size_t bytes = point->size;
    unsigned char *expected = expect_reduction(bytes, volley.rank, bytes);
    volley_fill(volley_buffer(SEND, bytes), bytes, volley.rank, bytes);
    poison_against(volley_buffer(RECEIVE, bytes), expected, bytes);
    perform(point);
    return count_differences(volley_buffer(RECEIVE, bytes), expected, bytes);
}

VOLLEY_COLLECTIVE
