/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "TCP stream of small messages"
summary = "The stream on bare sockets over loopback; every message leaves a time stamp on both sides."
source = "Linux 2.2.2 TCP delays every 41st small packet (Loncaric, 1999), measured by a modified NetPIPE on sockets"
needs_mpi = false
pattern = "sockets"
ranks = [2]
sizes = "1,8,16,64,93,94,125,126,128,256,509,510,512,1024,2048,4096"
operation = "rank 1"
statistic = "mean"
stamps = true
variants = ["write", "write+nodelay", "writev", "writev+nodelay", "writev+nodelay+{congestion}"]
neighbours = false
minimum_repetitions = 500
maximum_repetitions = 4000
*/
#include "tcp_common.h"

/* An empty answer after the stream, so that no message is under way when the caller goes on. */
static void wait_until_all_arrived(void) {
    if (volley.rank == 0)
        receive_message(NULL, 0);
    else
        send_message(NULL, 0);
}

static uint64_t check(const struct volley_point *point) {
    enum { MESSAGES = 64 };
    void *buffer = volley_buffer(0, point->size);
    uint64_t wrong = 0;
    open_connection(point);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        uint64_t salt = point->size * MESSAGES + i;
        if (volley.rank == 0) {
            volley_fill(buffer, point->size, 0, salt);
            send_message(buffer, point->size);
        } else {
            volley_poison(buffer, point->size, 0, salt);
            receive_message(buffer, point->size);
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
            send_message(buffer, point->size);
        else
            receive_message(buffer, point->size);
        uint64_t end = volley_now();
        volley_record(start, end);
        start = end;
    }
    wait_until_all_arrived();
}

VOLLEY_TEST(check, measure)
