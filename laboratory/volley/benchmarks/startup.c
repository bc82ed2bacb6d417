/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Startup"
summary = "From the launcher's start to main(), to the return of MPI_Init, and to the end of the first barrier."
source = "OSU micro-benchmarks: osu_init, osu_hello; here with the launcher's own time"
pattern = "start"
ranks = [1, 2, 4, 8]
axis = "ranks"
operation = "slowest rank"
traffic = "none"
variants = ["main", "init", "barrier"]
neighbours = false
minimum_repetitions = 1
maximum_repetitions = 1
*/
#include "volley_test.h"

/* A launch is one operation, and it is over when this is called: the frame has kept the stamps. */
static void measure(const struct volley_point *point, uint64_t repetitions) {
    uint64_t end_ns;
    (void)repetitions;
    if (!strcmp(point->variant, "main"))
        end_ns = volley.main_ns;
    else if (!strcmp(point->variant, "init"))
        end_ns = volley.init_ns;
    else if (!strcmp(point->variant, "barrier"))
        end_ns = volley.barrier_ns;
    else
        volley_die("unknown variant \"%s\"; there are main, init and barrier", point->variant);
    if (volley.launched_ns == 0 || volley.launched_ns > volley.main_ns)
        volley_die("launched_ns of launch.txt is %" PRIu64 ", not the CLOCK_MONOTONIC time at which the launcher began",
                   volley.launched_ns);
    volley_record_ns(volley.launched_ns, end_ns);
}

VOLLEY_TEST(NULL, measure)
