/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Incast"
summary = "All ranks send to rank 0 at once; the size is that of one message."
source = "The collapse of an alltoall on a switch with short queues (all2all.c, 2005), at its barest"
pattern = "many"
ranks = [0]
sizes = "1,64,1Ki,4Ki,8Ki,16Ki,32Ki,64Ki,128Ki,256Ki,1Mi,4Mi"
traffic = "all to one"
buffers = "message per rank"
neighbours = false
across_hosts = true
minimum_repetitions = 7
seconds_per_point = 0.25
*/
#include "volley_test.h"

/* "window:N" is for experiments (`volley explain`), not for studies: at most N ranks send at a time, each when rank 0
 * says so, which paces what arrives. */
static int window_of(const struct volley_point *point) {
    int window = volley.ranks;
    if (!strncmp(point->variant, "window:", 7)) window = atoi(point->variant + 7);
    if (window < 1) volley_die("a variant like window:1 expected, not \"%s\"", point->variant);
    return window;
}

static MPI_Request *requests(void) {
    static MPI_Request *all;
    if (!all) all = malloc((size_t)volley.ranks * sizeof *all);
    if (!all) volley_die("no memory for %d requests", volley.ranks);
    return all;
}

/* Rank 0 has posted all receives before anybody sends: nothing is unexpected. */
static void collect(unsigned char *buffer, int bytes, int window) {
    MPI_Request *pending = requests();
    for (int from = 1; from < volley.ranks; from++)
        MPI_Irecv(buffer + (size_t)bytes * (size_t)from, bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, &pending[from]);
    for (int first = 1; first < volley.ranks; first += window) {
        int behind = first + window < volley.ranks ? first + window : volley.ranks;
        for (int to = first; to < behind; to++) MPI_Send(NULL, 0, MPI_BYTE, to, 2, MPI_COMM_WORLD);
        MPI_Waitall(behind - first, pending + first, MPI_STATUSES_IGNORE);
    }
}

static void contribute(const void *buffer, int bytes) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

static uint64_t check(const struct volley_point *point) {
    size_t bytes = point->size;
    uint64_t wrong = 0;
    if (volley.rank != 0) {
        unsigned char *own = volley_buffer(0, bytes);
        volley_fill(own, bytes, volley.rank, bytes);
        contribute(own, (int)bytes);
        return 0;
    }
    unsigned char *all = volley_buffer(0, bytes * (size_t)volley.ranks);
    for (int from = 1; from < volley.ranks; from++) volley_poison(all + bytes * (size_t)from, bytes, from, bytes);
    collect(all, (int)bytes, window_of(point));
    for (int from = 1; from < volley.ranks; from++)
        wrong += volley_wrong(all + bytes * (size_t)from, bytes, from, bytes);
    return wrong;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    int bytes = (int)point->size, window = window_of(point);
    unsigned char *buffer = volley_buffer(0, volley.rank ? point->size : point->size * (size_t)volley.ranks);
    for (uint64_t i = 0; i < repetitions; i++) {
        if (volley.rank != 0) volley_renew(0);
        volley_synchronise();
        uint64_t start = volley_now();
        if (volley.rank == 0)
            collect(buffer, bytes, window);
        else
            contribute(buffer, bytes);
        volley_record(start, volley_now());
    }
}

VOLLEY_TEST(check, measure)
