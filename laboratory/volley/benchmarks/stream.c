/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Stream of small messages"
summary = "Rank 0 sends many small messages one way; every message leaves a time stamp on both sides."
source = "Linux 2.2.2 TCP delays every 41st small packet (Loncaric, 1999): limits at 93, 125 and 509 bytes"
pattern = "stream"
ranks = [2]
sizes = "1,8,16,64,93,94,125,126,128,256,509,510,512,1024,2048,4096"
operation = "rank 1"
statistic = "mean"
stamps = true
neighbours = false
minimum_repetitions = 500
maximum_repetitions = 4000
*/
#include "volley_test.h"

/* One way, then an empty answer, so that no message is under way when the caller goes on. */
static void wait_until_all_arrived(void) {
    if (volley.rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}

/* Messages of different content back to back: lost, repeated and overtaking ones all show. */
static uint64_t check(const struct volley_point *point) {
    enum { MESSAGES = 64 };
    void *buffer = volley_buffer(0, point->size);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < MESSAGES; i++) {
        uint64_t salt = point->size * MESSAGES + i;
        if (volley.rank == 0) {
            volley_fill(buffer, point->size, 0, salt);
            MPI_Send(buffer, (int)point->size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        } else {
            volley_poison(buffer, point->size, 0, salt);
            MPI_Recv(buffer, (int)point->size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += volley_wrong(buffer, point->size, 0, salt);
        }
    }
    wait_until_all_arrived();
    return wrong;
}

/* A sample is the time from the previous message's stamp to this one's: on rank 0 the end of the send, on rank 1
 * the completion of the receive. */
static void measure(const struct volley_point *point, uint64_t repetitions) {
    void *buffer = volley_buffer(0, point->size);
    uint64_t start = volley_now();
    for (uint64_t i = 0; i < repetitions; i++) {
        if (volley.rank == 0)
            MPI_Send(buffer, (int)point->size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, (int)point->size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        uint64_t end = volley_now();
        volley_record(start, end);
        start = end;
    }
    wait_until_all_arrived();
}

VOLLEY_TEST(check, measure)
