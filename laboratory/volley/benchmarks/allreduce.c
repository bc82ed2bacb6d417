/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Allreduce"
summary = "All ranks' messages are combined (exclusive or of bytes), and every rank gets the result."
source = "Intel MPI Benchmarks and OSU micro-benchmarks: Allreduce"
pattern = "collective"
cold = true
ranks = [2, 4]
sizes = "1..4Mi,30,300,3000,30000,300000,3000000"
operation = "span"
traffic = "one message"
*/
#include "collective.h"

static void perform(const struct volley_point *point) {
    MPI_Allreduce(volley_buffer(SEND, point->size), volley_buffer(RECEIVE, point->size), (int)point->size, MPI_BYTE,
                  MPI_BXOR, MPI_COMM_WORLD);
}

static uint64_t check(const struct volley_point *point) {
    size_t bytes = point->size;
    unsigned char *expected = expect_reduction(bytes, volley.ranks - 1, bytes);
    volley_fill(volley_buffer(SEND, bytes), bytes, volley.rank, bytes);
    poison_against(volley_buffer(RECEIVE, bytes), expected, bytes);
    perform(point);
    return count_differences(volley_buffer(RECEIVE, bytes), expected, bytes);
}

VOLLEY_COLLECTIVE
