/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Alltoall"
summary = "Every rank has a slice for every rank; the size is that of one slice."
source = "all2all.c (2005), option 3: Alltoall, slices to 16 MiB, rates in total and per node"
pattern = "collective"
cold = true
ranks = [2, 4]
sizes = "1..16Mi"
operation = "span"
traffic = "all pairs"
buffers = "message per rank"
*/
#include "collective.h"

static void perform(const struct volley_point *point) {
    size_t bytes = point->size * (size_t)volley.ranks;
    MPI_Alltoall(volley_buffer(SEND, bytes), (int)point->size, MPI_BYTE, volley_buffer(RECEIVE, bytes),
                 (int)point->size, MPI_BYTE, MPI_COMM_WORLD);
}

static uint64_t check(const struct volley_point *point) {
    size_t slice = point->size, bytes = slice * (size_t)volley.ranks;
    unsigned char *send = volley_buffer(SEND, bytes), *receive = volley_buffer(RECEIVE, bytes);
    uint64_t wrong = 0;
    for (int peer = 0; peer < volley.ranks; peer++) { /* the salt of a slice is who it is for */
        volley_fill(send + slice * (size_t)peer, slice, volley.rank, (uint64_t)peer);
        volley_poison(receive + slice * (size_t)peer, slice, peer, (uint64_t)volley.rank);
    }
    perform(point);
    for (int peer = 0; peer < volley.ranks; peer++)
        wrong += volley_wrong(receive + slice * (size_t)peer, slice, peer, (uint64_t)volley.rank);
    return wrong;
}

VOLLEY_COLLECTIVE
