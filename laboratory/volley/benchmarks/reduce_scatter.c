/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Reduce_scatter"
summary = "All ranks' vectors are combined (exclusive or of bytes); each rank gets its slice, whose size this is."
source = "Intel MPI Benchmarks and OSU micro-benchmarks: Reduce_scatter"
pattern = "collective"
cold = true
ranks = [2, 4]
sizes = "1..1Mi"
operation = "span"
traffic = "all pairs"
buffers = "message per rank"
quick = false
*/
#include "collective.h"

static void perform(const struct volley_point *point) {
    static int *counts;
    if (!counts) counts = malloc((size_t)volley.ranks * sizeof *counts);
    if (!counts) volley_die("no memory for %d counts", volley.ranks);
    for (int rank = 0; rank < volley.ranks; rank++) counts[rank] = (int)point->size;
    MPI_Reduce_scatter(volley_buffer(SEND, point->size * (size_t)volley.ranks), volley_buffer(RECEIVE, point->size),
                       counts, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
}

static uint64_t check(const struct volley_point *point) {
    size_t slice = point->size, bytes = slice * (size_t)volley.ranks;
    unsigned char *mine = expect_reduction(bytes, volley.ranks - 1, slice) + slice * (size_t)volley.rank;
    volley_fill(volley_buffer(SEND, bytes), bytes, volley.rank, slice);
    poison_against(volley_buffer(RECEIVE, slice), mine, slice);
    perform(point);
    return count_differences(volley_buffer(RECEIVE, slice), mine, slice);
}

VOLLEY_COLLECTIVE
