/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Reduce"
summary = "All ranks' messages are combined (exclusive or of bytes) into one at rank 0."
source = "12 versions of MVAPICH2, MPI_Reduce at 30 B to 3 MB, 30 launches of 100 repetitions (2016)"
pattern = "collective"
cold = true
ranks = [2, 4]
sizes = "1..4Mi,30,300,3000,30000,300000,3000000"
operation = "span"
traffic = "one message"
*/
#include "collective.h"

static void perform(const struct volley_point *point) {
    MPI_Reduce(volley_buffer(SEND, point->size), volley_buffer(RECEIVE, point->size), (int)point->size, MPI_BYTE,
               MPI_BXOR, 0, MPI_COMM_WORLD);
}

static uint64_t check(const struct volley_point *point) {
    size_t bytes = point->size;
    unsigned char *expected = expect_reduction(bytes, volley.ranks - 1, bytes);
    volley_fill(volley_buffer(SEND, bytes), bytes, volley.rank, bytes);
    poison_against(volley_buffer(RECEIVE, bytes), expected, bytes);
    perform(point);
    return volley.rank == 0 ? count_differences(volley_buffer(RECEIVE, bytes), expected, bytes) : 0;
}

VOLLEY_COLLECTIVE
