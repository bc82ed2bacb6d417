/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a careless batch system does: in some launches, all processes may use one CPU only.
 *
 * VOLLEY_SHIM_CONFINED=N confines every N-th launch or so (1: every one) to the first CPU it may use. Processes of one
 * launch agree without talking: the laboratory starts each launch in a session of its own, whose number decides.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void confine(void) {
    const char *text = getenv("VOLLEY_SHIM_CONFINED");
    const char *known = getenv("VOLLEY_CONFINED_BY");
    uint32_t every = text ? (uint32_t)strtoul(text, NULL, 10) : 0;
    /* Launchers may start their ranks in sessions of their own: the first process of the launch decides for all. */
    uint32_t session = known ? (uint32_t)strtoul(known, NULL, 10) : (uint32_t)getsid(0);
    if (!every) return;
    if (!known) {
        char number[16], *end = number + sizeof number - 1;
        uint32_t rest = session;
        *end = 0;
        do *--end = (char)('0' + rest % 10);
        while (rest /= 10);
        setenv("VOLLEY_CONFINED_BY", end, 1);
    }
    if ((session * 2654435761u >> 16) % every) return; /* Knuth's multiplicative hash: session numbers have patterns */
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    size_t cpu = 0;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &all)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}
