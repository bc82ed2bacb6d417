/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Stream to a receiver that computes"
summary = "Rank 0 sends one way; rank 1 computes before each receive: a message should take no longer than that."
source = "A lost wake-up in Volley's own library (2026): 2 ms a message where the receiver computes 50 us"
pattern = "probe"
ranks = [2]
sizes = "8,256,2048,4096,16384,65536"
operation = "rank 1"
statistic = "mean"
stamps = true
neighbours = false
variants = ["0us", "20us", "50us"]
minimum_repetitions = 600
maximum_repetitions = 2000
*/
#include "volley_test.h"

/* A variant says how long rank 1 computes before each receive: "50us". The buffers between both ranks fill, the sender
 * waits for room, and how it learns of the room is what this test is about.
 *
 * "50us,window:N" is for experiments (`volley explain`), not for studies: the sender waits for an empty answer after
 * every N-th message, so that the buffers never fill. */
static struct work {
    uint64_t ticks;  /* that rank 1 computes before each receive */
    uint64_t window; /* messages the sender may be ahead; 0: as many as the MPI takes */
} work_of(const struct volley_point *point) {
    struct work work = {0, 0};
    char *rest;
    work.ticks = volley_ticks_in(1e3 * (double)strtoul(point->variant, &rest, 10));
    if (strncmp(rest, "us", 2)) volley_die("a variant like 50us expected, not \"%s\"", point->variant);
    if (!strncmp(rest + 2, ",window:", 8)) work.window = strtoul(rest + 10, NULL, 10);
    return work;
}

/* What this rank's thread has used: ranks may be threads of one process. */
struct usage {
    double cpu_ns, no_core_ns; /* no_core_ns: ready to run, and no core free; -1: not known */
    long sleeps;
};

static struct usage usage_now(void) {
    struct usage now = {.no_core_ns = -1};
    struct timespec cpu;
    struct rusage used;
    unsigned long long ready;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    now.cpu_ns = 1e9 * (double)cpu.tv_sec + (double)cpu.tv_nsec;
    getrusage(RUSAGE_THREAD, &used);
    now.sleeps = used.ru_nvcsw;
    FILE *stream = fopen("/proc/thread-self/schedstat", "re");
    if (stream) {
        if (fscanf(stream, "%*u %llu", &ready) == 1) now.no_core_ns = (double)ready;
        fclose(stream);
    }
    return now;
}

/* The stream under way, for what is said of it at its end. */
static struct {
    uint64_t messages, begun, ended, computed; /* in ticks */
    struct usage before, after;
} stream;

static void compute(uint64_t ticks) {
    uint64_t begun = volley_now(), now = begun;
    while (now - begun < ticks) now = volley_now();
    stream.computed += now - begun;
}

/* An empty message: an answer, or a sign that all have arrived. */
static void answer(int from, int tag) {
    if (volley.rank == from)
        MPI_Send(NULL, 0, MPI_BYTE, 1 - from, tag, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void move(void *buffer, const struct volley_point *point, const struct work *work, uint64_t number) {
    if (volley.rank == 0) {
        MPI_Send(buffer, (int)point->size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    } else {
        if (work->ticks) compute(work->ticks);
        MPI_Recv(buffer, (int)point->size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (work->window && (number + 1) % work->window == 0) answer(1, 3);
}

/* So many that the buffers fill: lost, repeated, overtaking and overwritten ones all show. */
static uint64_t check(const struct volley_point *point) {
    enum { MESSAGES = 300 };
    struct work work = work_of(point);
    void *buffer = volley_buffer(0, point->size);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < MESSAGES; i++) {
        uint64_t salt = point->size * MESSAGES + i;
        if (volley.rank == 0)
            volley_fill(buffer, point->size, 0, salt);
        else
            volley_poison(buffer, point->size, 0, salt);
        move(buffer, point, &work, i);
        if (volley.rank == 1) wrong += volley_wrong(buffer, point->size, 0, salt);
        volley.activity++;
    }
    answer(1, 2);
    return wrong;
}

/* How this rank spent the stream's time. What a message takes beyond computed_ns is what this test asks for. */
static void say(const struct volley_point *point) {
    struct usage *before = &stream.before, *after = &stream.after;
    double no_core_ns = before->no_core_ns < 0 || after->no_core_ns < 0 ? -1 : after->no_core_ns - before->no_core_ns;
    volley_fact("{\"fact\": \"side\", \"size\": %" PRIu64 ", \"variant\": \"%s\", \"messages\": %" PRIu64
                ", \"wall_ns\": %.0f, \"computed_ns\": %.0f, \"cpu_ns\": %.0f, \"no_core_ns\": %.0f, \"sleeps\": %ld}",
                point->size, point->variant, stream.messages, volley_ns_in(stream.ended - stream.begun),
                volley_ns_in(stream.computed), after->cpu_ns - before->cpu_ns, no_core_ns,
                after->sleeps - before->sleeps);
}

/* A sample is the time from the previous message's stamp to this one's: on rank 0 the end of the send, on rank 1
 * the completion of the receive; its own computing is part of it. */
static void measure(const struct volley_point *point, uint64_t repetitions) {
    struct work work = work_of(point);
    void *buffer = volley_buffer(0, point->size);
    volley.end_of_point = say;
    stream.messages = repetitions;
    stream.computed = 0;
    stream.before = usage_now();
    volley_synchronise();
    uint64_t start = stream.begun = volley_now();
    for (uint64_t i = 0; i < repetitions; i++) {
        move(buffer, point, &work, i);
        uint64_t end = volley_now();
        volley_record(start, end);
        start = end;
    }
    stream.ended = start;
    stream.after = usage_now();
    answer(1, 2);
}

VOLLEY_TEST(check, measure)
