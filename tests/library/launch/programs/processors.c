// SPDX-License-Identifier: BSD-3-Clause
// Which processors the rank may run on.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
    printf("rank %s", getenv("VOLLEY_RANK"));
    for (unsigned processor = 0; processor < CPU_SETSIZE; processor++)
        if (CPU_ISSET(processor, &mask)) printf(" %u", processor);
    printf("\n");
    return 0;
}
