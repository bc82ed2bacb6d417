/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Target that computes"
summary = "Rank 0 locks, puts and unlocks while rank 1 computes outside MPI: does it stand until that is over?"
source = "MPI 5.0, section 12.7.3 (progress): a passive target need not call MPI; many MPIs wait until it does"
pattern = "probe"
ranks = [2]
sizes = "8,4Ki,256Ki"
operation = "rank 0"
traffic = "one message"
variants = ["allocate", "create"]
neighbours = false
ranked = false
quick = false
minimum_repetitions = 7
maximum_repetitions = 7
*/
#include "volley_window.h"

/* One repetition: both ranks agree on a time, let SETTLE_NS go by, and then rank 0 does MPI_Win_lock, MPI_Put,
 * MPI_Win_unlock while rank 1 stays outside MPI. The window's memory is of MPI_Win_allocate, or the program's own
 * ("create"), which an MPI may be unable to reach.
 *
 * "allocate,polling" and "allocate,away3" (and so for "create") are for experiments (`volley explain`), not for
 * studies: rank 1 calls MPI_Iprobe while it is away, or stays away three times as long. */
enum { TARGET = 1, SETTLE_NS = 1000000, ABSENCE_NS = 4000000 };

static struct {
    MPI_Win window;
    size_t bytes;
} created = {MPI_WIN_NULL, 0};

/* What the repetitions of the point under way showed; their medians are told. */
static struct {
    double stands_ns[16], absent_ns[16];
    int count;
} seen;

static int has(const struct volley_point *point, const char *word) {
    return strstr(point->variant, word) != NULL;
}

static MPI_Win window_of(const struct volley_point *point) {
    if (has(point, "allocate")) {
        volley_window(point->size);
        return shared.window;
    }
    if (!has(point, "create")) volley_die("unknown variant \"%s\"; there are allocate and create", point->variant);
    if (created.window != MPI_WIN_NULL && created.bytes >= point->size) return created.window;
    if (created.window != MPI_WIN_NULL) MPI_Win_free(&created.window);
    MPI_Win_create(volley_buffer(1, point->size), (MPI_Aint)point->size, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &created.window);
    created.bytes = point->size;
    return created.window;
}

static void look_for_message(void *unused) {
    (void)unused;
    int flag;
    MPI_Iprobe(0, VOLLEY_TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void put(const void *buffer, int bytes, MPI_Win window) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window);
    MPI_Put(buffer, bytes, MPI_BYTE, TARGET, 0, bytes, MPI_BYTE, window);
    MPI_Win_unlock(TARGET, window);
}

static int by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void say(const struct volley_point *point) {
    if (volley.rank != 0 || seen.count == 0) return;
    qsort(seen.stands_ns, (size_t)seen.count, sizeof *seen.stands_ns, by_number);
    qsort(seen.absent_ns, (size_t)seen.count, sizeof *seen.absent_ns, by_number);
    volley_fact("{\"fact\": \"absence\", \"size\": %" PRIu64
                ", \"variant\": \"%s\", \"stands_ns\": %.0f, \"absent_ns\": %.0f, \"away\": \"rank 1\", \"operation\": "
                "\"MPI_Win_lock, MPI_Put, MPI_Win_unlock\"}",
                point->size, point->variant, seen.stands_ns[seen.count / 2], seen.absent_ns[seen.count / 2]);
}

static uint64_t check(const struct volley_point *point) {
    MPI_Win window = window_of(point);
    void *buffer = volley_buffer(0, point->size), *memory = NULL;
    int flag;
    uint64_t wrong = 0;
    volley.end_of_point = say;
    MPI_Win_get_attr(window, MPI_WIN_BASE, &memory, &flag);
    if (volley.rank == TARGET) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window);
        volley_poison(memory, point->size, 0, point->size);
        MPI_Win_unlock(TARGET, window);
    }
    volley_fill(buffer, point->size, 0, point->size);
    volley_synchronise();
    if (volley.rank == 0) put(buffer, (int)point->size, window);
    volley_synchronise();
    if (volley.rank == TARGET) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window);
        wrong = volley_wrong(memory, point->size, 0, point->size);
        MPI_Win_unlock(TARGET, window);
    }
    return wrong;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    MPI_Win window = window_of(point);
    void *buffer = volley_buffer(0, point->size);
    uint64_t absence = volley_ticks_in(ABSENCE_NS * (has(point, "away3") ? 3.0 : 1.0));
    seen.count = 0;
    for (uint64_t i = 0; i < repetitions; i++) {
        uint64_t go = volley_maximum(volley_now()) + volley_ticks_in(SETTLE_NS), start = 0, end = 0;
        if (volley.rank == 0) {
            volley_stay_away(go, NULL, NULL);
            start = volley_now();
            put(buffer, (int)point->size, window);
            end = volley_now();
            volley_record(start, end);
        } else
            volley_stay_away(go + absence, has(point, "polling") ? look_for_message : NULL, NULL);
        uint64_t back = volley_maximum(volley.rank == TARGET ? volley_now() : 0);
        if (volley.rank == 0 && seen.count < 16 && back > start) {
            seen.stands_ns[seen.count] = volley_ns_in(end - start);
            seen.absent_ns[seen.count++] = volley_ns_in(back - start);
        }
    }
}

VOLLEY_TEST(check, measure)
