/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Stream of puts"
summary = "Rank 0 puts 64 pieces side by side into rank 1's memory, then flushes; the time is that of one piece."
source = "OSU micro-benchmarks: osu_put_bw; MPI 5.0, section 12.5.4 (flush)"
pattern = "windows"
ranks = [2]
sizes = "8..256Ki"
operation = "rank 0"
scale = 0.015625
traffic = "one message"
variants = ["put", "get"]
neighbours = false
quick = false
*/
#include "volley_window.h"

enum { TARGET = 1, PIECES = 64 };

static int is_get(const struct volley_point *point) {
    if (strcmp(point->variant, "get") && strcmp(point->variant, "put"))
        volley_die("unknown variant \"%s\"; there are put and get", point->variant);
    return point->variant[0] == 'g';
}

static void move(int get, unsigned char *buffer, int bytes) {
    for (int i = 0; i < PIECES; i++) {
        unsigned char *piece = buffer + (size_t)i * (size_t)bytes;
        MPI_Aint at = (MPI_Aint)i * bytes;
        if (get)
            MPI_Get(piece, bytes, MPI_BYTE, TARGET, at, bytes, MPI_BYTE, shared.window);
        else
            MPI_Put(piece, bytes, MPI_BYTE, TARGET, at, bytes, MPI_BYTE, shared.window);
    }
    MPI_Win_flush(TARGET, shared.window);
}

static uint64_t check(const struct volley_point *point) {
    size_t bytes = PIECES * point->size;
    unsigned char *buffer = volley_buffer(0, bytes);
    int get = is_get(point);
    uint64_t wrong = 0;
    volley_window(bytes);
    if (volley.rank == TARGET) {
        unsigned char *memory = volley_window_open();
        if (get)
            volley_fill(memory, bytes, TARGET, bytes);
        else
            volley_poison(memory, bytes, 0, bytes);
        volley_window_close();
    } else if (get)
        volley_poison(buffer, bytes, TARGET, bytes);
    else
        volley_fill(buffer, bytes, 0, bytes);
    volley_synchronise();
    if (volley.rank == 0) {
        MPI_Win_lock_all(0, shared.window);
        move(get, buffer, (int)point->size);
        MPI_Win_unlock_all(shared.window);
        if (get) wrong = volley_wrong(buffer, bytes, TARGET, bytes);
    }
    volley_synchronise();
    if (volley.rank == TARGET && !get) {
        wrong = volley_wrong(volley_window_open(), bytes, 0, bytes);
        volley_window_close();
    }
    return wrong;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    unsigned char *buffer = volley_buffer(0, PIECES * point->size);
    int get = is_get(point);
    if (volley.rank == 0) MPI_Win_lock_all(0, shared.window);
    for (uint64_t i = 0; i < repetitions && volley.rank == 0; i++) {
        volley_renew(0);
        uint64_t start = volley_now();
        move(get, buffer, (int)point->size);
        volley_record(start, volley_now());
    }
    if (volley.rank == 0) MPI_Win_unlock_all(shared.window);
    volley_synchronise();
}

VOLLEY_TEST(check, measure)
