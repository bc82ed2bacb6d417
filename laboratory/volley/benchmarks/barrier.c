/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Barrier"
summary = "All ranks start together; the time until the last has left MPI_Barrier."
source = "Intel MPI Benchmarks and OSU micro-benchmarks: Barrier"
pattern = "collective"
ranks = [2, 4]
sizes = "0"
operation = "span"
traffic = "none"
neighbours = false
*/
#include "collective.h"

static void perform(const struct volley_point *point) {
    (void)point;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank in turn comes late: no other may leave before it has come. Counts the ranks that did. */
static uint64_t check(const struct volley_point *point) {
    uint64_t left_too_early = 0, late = volley_ticks_in(200e3);
    for (int latecomer = 0; latecomer < volley.ranks; latecomer++) {
        volley_synchronise();
        uint64_t arrived = volley_now();
        if (volley.rank == latecomer)
            while (volley_now() - arrived < late) {}
        uint64_t came = volley.rank == latecomer ? volley_now() : 0;
        perform(point);
        uint64_t left = volley_now();
        left_too_early += left < volley_maximum(came);
    }
    return left_too_early;
}

VOLLEY_COLLECTIVE
