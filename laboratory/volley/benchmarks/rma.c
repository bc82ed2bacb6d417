/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Put and get"
summary = "Rank 0 reads or writes memory of rank 1 through a window; each way of synchronising is a curve."
source = "MPI 5.0, chapter 12; OSU micro-benchmarks: osu_put_latency, osu_get_latency, osu_acc_latency"
pattern = "windows"
ranks = [2]
sizes = "8..4Mi"
operation = "rank 0"
traffic = "one message"
variants = ["put", "get", "accumulate", "fence", "post-start", "lock"]
neighbours = false
quick = false
*/
#include "volley_window.h"

/* "put", "get", "accumulate": the call and MPI_Win_flush, in an epoch of MPI_Win_lock_all that lasts. The target is in
 * MPI meanwhile (it waits for a message). "fence", "post-start", "lock": MPI_Put with the synchronisation of that name
 * around each; in the first two the target takes part. */
enum { TARGET = 1 };
enum way { PUT, GET, ACCUMULATE, FENCE, POST_START, LOCK, WAYS };
static const char *const names[WAYS] = {"put", "get", "accumulate", "fence", "post-start", "lock"};

static enum way way_of(const struct volley_point *point) {
    for (int way = 0; way < WAYS; way++)
        if (!strcmp(point->variant, names[way])) return (enum way)way;
    volley_die("unknown variant \"%s\"; there are put, get, accumulate, fence, post-start and lock", point->variant);
}

static int lasts(enum way way) {
    return way == PUT || way == GET || way == ACCUMULATE;
}

/* The other rank, for MPI_Win_post and MPI_Win_start. */
static MPI_Group partner(void) {
    static MPI_Group group = MPI_GROUP_NULL;
    if (group == MPI_GROUP_NULL) {
        MPI_Group world;
        int other = 1 - volley.rank;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, 1, &other, &group);
        MPI_Group_free(&world);
    }
    return group;
}

static void begin(enum way way) {
    if (lasts(way) && volley.rank != TARGET) MPI_Win_lock_all(0, shared.window);
    if (way == FENCE) MPI_Win_fence(MPI_MODE_NOPRECEDE, shared.window);
}

static void end(enum way way) {
    if (lasts(way) && volley.rank != TARGET) MPI_Win_unlock_all(shared.window);
    if (way == FENCE) MPI_Win_fence(MPI_MODE_NOSUCCEED, shared.window);
    volley_synchronise();
}

/* One operation of the origin. */
static void access_target(enum way way, void *buffer, int bytes) {
    if (way == POST_START) MPI_Win_start(partner(), 0, shared.window);
    if (way == LOCK) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, shared.window);
    if (way == GET)
        MPI_Get(buffer, bytes, MPI_BYTE, TARGET, 0, bytes, MPI_BYTE, shared.window);
    else if (way == ACCUMULATE)
        MPI_Accumulate(buffer, bytes, MPI_BYTE, TARGET, 0, bytes, MPI_BYTE, MPI_BXOR, shared.window);
    else
        MPI_Put(buffer, bytes, MPI_BYTE, TARGET, 0, bytes, MPI_BYTE, shared.window);
    if (lasts(way)) MPI_Win_flush(TARGET, shared.window);
    if (way == FENCE) MPI_Win_fence(0, shared.window);
    if (way == POST_START) MPI_Win_complete(shared.window);
    if (way == LOCK) MPI_Win_unlock(TARGET, shared.window);
}

/* The target's part of it. */
static void take_part(enum way way) {
    if (way == FENCE) MPI_Win_fence(0, shared.window);
    if (way == POST_START) {
        MPI_Win_post(partner(), 0, shared.window);
        MPI_Win_wait(shared.window);
    }
}

static void operation(enum way way, void *buffer, int bytes) {
    if (volley.rank == TARGET)
        take_part(way);
    else
        access_target(way, buffer, bytes);
}

/* What is in the window before: for a get what is to come, for an accumulation zeros, else what must vanish. */
static void prepare_target(enum way way, size_t bytes) {
    unsigned char *memory = volley_window_open();
    if (way == GET)
        volley_fill(memory, bytes, TARGET, bytes);
    else if (way == ACCUMULATE)
        memset(memory, 0, bytes);
    else
        volley_poison(memory, bytes, 0, bytes);
    volley_window_close();
}

static uint64_t check(const struct volley_point *point) {
    enum way way = way_of(point);
    size_t bytes = point->size;
    void *buffer = volley_buffer(0, bytes);
    volley_window(bytes);
    if (volley.rank == TARGET)
        prepare_target(way, bytes);
    else if (way == GET)
        volley_poison(buffer, bytes, TARGET, bytes);
    else
        volley_fill(buffer, bytes, 0, bytes);
    volley_synchronise();
    begin(way);
    operation(way, buffer, (int)bytes);
    end(way);
    if (volley.rank != TARGET) return way == GET ? volley_wrong(buffer, bytes, TARGET, bytes) : 0;
    unsigned char *memory = volley_window_open();
    uint64_t wrong = way == GET ? 0 : volley_wrong(memory, bytes, 0, bytes);
    volley_window_close();
    return wrong;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    enum way way = way_of(point);
    void *buffer = volley_buffer(0, point->size);
    begin(way);
    volley_synchronise();
    for (uint64_t i = 0; i < repetitions; i++) {
        if (volley.rank != TARGET) volley_renew(0);
        uint64_t start = volley_now();
        operation(way, buffer, (int)point->size);
        volley_record(start, volley_now());
    }
    end(way);
}

VOLLEY_TEST(check, measure)
