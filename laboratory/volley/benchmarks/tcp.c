/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "TCP ping-pong"
summary = "The ping-pong on bare sockets over loopback: header and body by write twice or writev once, with options."
source = "LAM/MPI on Linux 2.2.x, its TCP test program (1999): read/write against readv/writev"
needs_mpi = false
pattern = "sockets"
ranks = [2]
sizes = "1,4,16,64,256,1Ki,2Ki,4Ki,16Ki,32Ki,64Ki,128Ki,256Ki,1Mi,4Mi,8Mi"
operation = "rank 0"
scale = 0.5
variants = [
    "write", "write+nodelay", "write+quickack", "write+cork",
    "writev", "writev+nodelay", "writev+nodelay+{congestion}",
]
neighbours = false
*/
#include "tcp_common.h"

static uint64_t check(const struct volley_point *point) {
    void *buffer = volley_buffer(0, point->size);
    uint64_t wrong;
    open_connection(point);
    if (volley.rank == 0) {
        volley_fill(buffer, point->size, 0, point->size);
        send_message(buffer, point->size);
        volley_poison(buffer, point->size, 1, point->size);
        receive_message(buffer, point->size);
        wrong = volley_wrong(buffer, point->size, 1, point->size);
    } else {
        volley_poison(buffer, point->size, 0, point->size);
        receive_message(buffer, point->size);
        wrong = volley_wrong(buffer, point->size, 0, point->size);
        volley_fill(buffer, point->size, 1, point->size);
        send_message(buffer, point->size);
    }
    return wrong;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    void *buffer = volley_buffer(0, point->size);
    uint64_t start = volley_now();
    for (uint64_t i = 0; i < repetitions; i++) {
        if (volley.rank == 0) send_message(buffer, point->size);
        receive_message(buffer, point->size);
        if (volley.rank == 1) send_message(buffer, point->size);
        uint64_t end = volley_now();
        volley_record(start, end);
        start = end;
    }
}

VOLLEY_TEST(check, measure)
