/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "A peer's memory"
summary = "Rank 0 reads rank 1's memory by process_vm_readv, as MPIs do: is it allowed, how long does it take?"
source = "Cross memory attach (Yeoh, 2012): single copies of MPICH, Open MPI and Intel MPI; refused in many containers"
pattern = "probe"
ranks = [2]
sizes = "4Ki..8Mi"
operation = "rank 0"
neighbours = false
ranked = false
quick = false
*/
#define _GNU_SOURCE
#include "volley_test.h"

#include <sys/uio.h>

/* Where rank 1's buffer is, and whose: rank 0 learns both before every point. */
static struct {
    uint64_t address;
    int64_t pid;
} peer;

static int told;

static void exchange(const struct volley_point *point) {
    void *own = volley_buffer(0, point->size);
    if (volley.rank == 1) {
        peer.address = (uint64_t)(uintptr_t)own;
        peer.pid = getpid();
        MPI_Send(&peer, (int)sizeof peer, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&peer, (int)sizeof peer, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Bytes read, or -1 with errno. */
static ssize_t read_peer(uint64_t bytes) {
    struct iovec local = {volley_buffer(0, bytes), bytes};
    struct iovec remote = {(void *)(uintptr_t)peer.address, bytes};
    return process_vm_readv((pid_t)peer.pid, &local, 1, &remote, 1, 0);
}

static void tell(int error) {
    if (told++) return;
    volley_fact("{\"fact\": \"peer_memory\", \"allowed\": %s, \"errno\": %d, \"reason\": \"%s\"}",
                error ? "false" : "true", error, error ? strerror(error) : "");
}

static uint64_t check(const struct volley_point *point) {
    uint64_t wrong = 0;
    if (volley.rank == 1) volley_fill(volley_buffer(0, point->size), point->size, 1, point->size);
    exchange(point);
    volley_synchronise();
    if (volley.rank == 0) {
        volley_poison(volley_buffer(0, point->size), point->size, 1, point->size);
        ssize_t got = read_peer(point->size);
        tell(got < 0 ? errno : 0);
        if (got == (ssize_t)point->size)
            wrong = volley_wrong(volley_buffer(0, point->size), point->size, 1, point->size);
    }
    volley_synchronise();
    return wrong;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    exchange(point);
    for (uint64_t i = 0; volley.rank == 0 && i < repetitions; i++) {
        uint64_t start = volley_now();
        if (read_peer(point->size) != (ssize_t)point->size) break;
        volley_record(start, volley_now());
    }
    volley_synchronise();
}

VOLLEY_TEST(check, measure)
