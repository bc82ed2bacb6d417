/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Bcast"
summary = "Rank 0's message reaches every rank."
source = "Intel MPI Benchmarks and OSU micro-benchmarks: Bcast"
pattern = "collective"
cold = true
ranks = [2, 4]
sizes = "1..4Mi"
operation = "span"
traffic = "one message"
*/
#include "collective.h"

static void perform(const struct volley_point *point) {
    MPI_Bcast(volley_buffer(SEND, point->size), (int)point->size, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static uint64_t check(const struct volley_point *point) {
    void *buffer = volley_buffer(SEND, point->size);
    if (volley.rank == 0)
        volley_fill(buffer, point->size, 0, point->size);
    else
        volley_poison(buffer, point->size, 0, point->size);
    perform(point);
    return volley_wrong(buffer, point->size, 0, point->size);
}

VOLLEY_COLLECTIVE
