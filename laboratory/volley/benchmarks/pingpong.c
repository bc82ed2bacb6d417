/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Ping-pong"
summary = "Two ranks send one message back and forth; half the round trip is the time of one message."
source = "LAM/MPI on Linux 2.2.x, its MPI test program (1999): 1 byte to 8 MB"
pattern = "messages"
cold = true
ranks = [2]
sizes = "1..8Mi"
operation = "rank 0"
scale = 0.5
traffic = "one message"
*/
#include "volley_test.h"

/* `incoming` may be `outgoing`: then what came is sent back. */
static void bounce(const void *outgoing, void *incoming, int bytes) {
    if (volley.rank == 0) {
        MPI_Send(outgoing, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(incoming, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(incoming, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(outgoing, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
}

/* Rank 0 sends known bytes; rank 1 checks them, answers with its own; rank 0 checks those. */
static uint64_t check(const struct volley_point *point) {
    int bytes = (int)point->size;
    void *buffer = volley_buffer(0, point->size);
    uint64_t wrong;
    if (volley.rank == 0) {
        volley_fill(buffer, point->size, 0, point->size);
        MPI_Send(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        volley_poison(buffer, point->size, 1, point->size);
        MPI_Recv(buffer, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong = volley_wrong(buffer, point->size, 1, point->size);
    } else {
        volley_poison(buffer, point->size, 0, point->size);
        MPI_Recv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong = volley_wrong(buffer, point->size, 0, point->size);
        volley_fill(buffer, point->size, 1, point->size);
        MPI_Send(buffer, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
    return wrong;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    void *buffer = volley_buffer(0, point->size);
    /* Written buffers are others than those that come: rank 1 would have to write between the two messages. */
    void *incoming = volley.writes_buffers && !volley.cold_bytes ? volley_buffer(1, point->size) : NULL;
    uint64_t start = volley_now();
    for (uint64_t i = 0; i < repetitions; i++) {
        if (volley.cold_bytes) buffer = volley_buffer(0, point->size);
        start = volley_next(start, 0);
        bounce(buffer, incoming ? incoming : buffer, (int)point->size);
        uint64_t end = volley_now();
        volley_record(start, end);
        start = end;
    }
}

VOLLEY_TEST(check, measure)
