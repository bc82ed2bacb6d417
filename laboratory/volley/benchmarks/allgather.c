/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Allgather"
summary = "Every rank gets every rank's message; the size is that of one rank's."
source = "Intel MPI Benchmarks and OSU micro-benchmarks: Allgather"
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
    MPI_Allgather(volley_buffer(SEND, point->size), (int)point->size, MPI_BYTE,
                  volley_buffer(RECEIVE, point->size * (size_t)volley.ranks), (int)point->size, MPI_BYTE,
                  MPI_COMM_WORLD);
}

static uint64_t check(const struct volley_point *point) {
    size_t slice = point->size;
    unsigned char *receive = volley_buffer(RECEIVE, slice * (size_t)volley.ranks);
    uint64_t wrong = 0;
    volley_fill(volley_buffer(SEND, slice), slice, volley.rank, slice);
    for (int peer = 0; peer < volley.ranks; peer++) volley_poison(receive + slice * (size_t)peer, slice, peer, slice);
    perform(point);
    for (int peer = 0; peer < volley.ranks; peer++)
        wrong += volley_wrong(receive + slice * (size_t)peer, slice, peer, slice);
    return wrong;
}

VOLLEY_COLLECTIVE
