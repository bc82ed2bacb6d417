/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests of windows share: one window over all ranks that grows with the points, and its memory looked at from
 * its own rank. Tests include this instead of volley_test.h.
 */
#ifndef VOLLEY_WINDOW_H
#define VOLLEY_WINDOW_H

#include "volley_test.h"

#if MPI_VERSION < 3
#error "this MPI has no windows of MPI 3 (MPI_Win_allocate, MPI_Win_flush, MPI_Fetch_and_op)"
#endif

/** The window of this launch: `bytes` on each rank, by MPI_Win_allocate, which is where an MPI chooses the memory. */
static struct {
    MPI_Win window;
    unsigned char *memory;
    size_t bytes;
} shared = {MPI_WIN_NULL, NULL, 0};

/** A window of at least `bytes` on each rank. Collective: all ranks come with the same point. */
static inline void volley_window(size_t bytes) {
    if (shared.window != MPI_WIN_NULL && shared.bytes >= bytes) return;
    if (shared.window != MPI_WIN_NULL) MPI_Win_free(&shared.window);
    MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared.memory, &shared.window);
    shared.bytes = bytes;
}

/** Until volley_window_close() this rank may read and write its own part by plain accesses. */
static inline unsigned char *volley_window_open(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, volley.rank, 0, shared.window);
    return shared.memory;
}

static inline void volley_window_close(void) {
    MPI_Win_unlock(volley.rank, shared.window);
}

#endif
