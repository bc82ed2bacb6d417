/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether other processes may read this one's memory (process_vm_readv, "cross memory attach"): VOLLEY_SHIM_MEMORY is
 *
 *   permit  as far as a process can say so itself: it is dumpable, and anyone may trace it under Yama's scope 1
 *           (prctl(2): PR_SET_DUMPABLE, PR_SET_PTRACER);
 *   refuse  not dumpable, and without the capability to read others all the same: what containers and hardened
 *           machines do to an MPI.
 *
 * Of several that are preloaded the first loaded acts last, so that an experiment can permit what a machine refuses. */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif
#define ANYONE (~0UL)

static void drop_ptrace(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data) != 0) return;
    data[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
    syscall(SYS_capset, &header, data);
}

__attribute__((constructor)) static void set(void) {
    const char *wanted = getenv("VOLLEY_SHIM_MEMORY");
    if (!wanted) return;
    if (strstr(wanted, "refuse")) {
        drop_ptrace();
        prctl(PR_SET_DUMPABLE, 0);
    }
    if (strstr(wanted, "permit")) {
        prctl(PR_SET_PTRACER, ANYONE);
        prctl(PR_SET_DUMPABLE, 1);
    }
}
