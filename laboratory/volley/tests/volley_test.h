/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The frame every test program stands in: clock, samples, checking, watchdog, output.
 *
 * A test is one C file that includes this header and ends with VOLLEY_TEST(check, measure). The frame
 * owns main(): it reads FOLDER/launch.txt, starts MPI (or, with VOLLEY_NO_MPI defined before the
 * include, forks its ranks), pins each rank, and for every point of the launch
 *
 *   1. calls check(point): one untimed pass over known bytes; wrong bytes are reported, never timed;
 *   2. calls measure(point, n) with small n to learn how long one operation takes;
 *   3. calls measure(point, repetitions), whose volley_record() calls are kept, and then
 *      volley.end_of_point(point), if the test has set it.
 *
 * Each rank leaves FOLDER/rank-R.samples (pairs of uint64 start and duration, in ticks) and
 * FOLDER/rank-R.jsonl (facts: clock, blocks of samples, mismatches, anything volley_fact() says).
 * The laboratory reads both (laboratory/volley/rank_files.py is the other side of this format).
 *
 * Timing: one clock read costs some ten nanoseconds; a chained test (the end of one operation is the
 * start of the next) pays one read per operation. What recording costs is measured in every launch and
 * reported as overhead_ns.
 */
#ifndef VOLLEY_TEST_H
#define VOLLEY_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef VOLLEY_NO_MPI
#include <mpi.h>
#else
#include <pthread.h>
#include <sys/wait.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#define VOLLEY_EXIT_FROZEN 86 /* nothing moved for freeze_seconds */
#define VOLLEY_EXIT_BROKEN 87 /* the frame itself could not work: message on stderr */
#define VOLLEY_TAG 77
#ifndef VOLLEY_SHARED_BYTES
#define VOLLEY_SHARED_BYTES 0 /* a VOLLEY_NO_MPI test may define it before the include */
#endif

/** One thing to measure: a size in bytes (or what the test's axis says) and a variant's name. */
struct volley_point {
    uint64_t size;
    char variant[64];
};

struct volley_sample {
    uint64_t start;
    uint64_t duration;
};

/** A run of samples of one point: samples[first] to samples[first + count - 1]. */
struct volley_block {
    uint32_t point;
    uint64_t size;
    uint64_t first;
    uint64_t count;
};

enum { VOLLEY_BUFFERS = 4, VOLLEY_MAXIMUM_CPUS = 1024, VOLLEY_WATCH_TURNS = 4 };

static struct {
    char folder[3072];
    int rank, ranks;
    /* launch.txt */
    double freeze_seconds, seconds_per_point;
    double limit_seconds; /* since main() began: points not begun by then are cut; 0: no limit */
    uint64_t minimum_repetitions, maximum_repetitions;
    uint64_t launched_ns;
    uint64_t seed;
    /* CLOCK_MONOTONIC when main() began, MPI_Init() returned, and the first MPI_Barrier() returned */
    uint64_t main_ns, init_ns, barrier_ns;
    int cpus[VOLLEY_MAXIMUM_CPUS];
    int cpu_count;
    struct volley_point *points;
    uint32_t point_count;
    /* samples of this rank */
    struct volley_sample *samples;
    uint64_t capacity, count, dropped;
    struct volley_block *blocks;
    uint32_t block_count, block_capacity;
    int block_open;
    /* state, read by the watchdog */
    volatile uint64_t activity;
    const char *volatile phase;
    uint32_t current_point;
    int facts_file;
    /* called after the measured repetitions of a point: closing connections, saying facts */
    void (*end_of_point)(const struct volley_point *point);
    /* clock */
    int use_ticks;
    uint64_t first_tick, first_ns;
    double ticks_per_ns;
    double overhead_ns;
    uint64_t align_ticks;
    void *buffers[VOLLEY_BUFFERS];
    size_t buffer_bytes[VOLLEY_BUFFERS];
#ifdef VOLLEY_NO_MPI
    struct volley_shared *shared;
    void *shared_memory; /* VOLLEY_SHARED_BYTES that all ranks see, zeroed; NULL if the test wants none */
#endif
} volley = {.phase = "start", .facts_file = -1};

/* ---- failure ------------------------------------------------------------------------------------ */

__attribute__((noreturn, format(printf, 1, 2))) static inline void volley_die(const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "volley test: rank %d, while in %s: ", volley.rank, volley.phase);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(stderr);
    _exit(VOLLEY_EXIT_BROKEN);
}

/* ---- clock -------------------------------------------------------------------------------------- */

static inline uint64_t volley_monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** Ticks now. rdtscp waits until earlier instructions have completed, so that an operation's loads are
 *  inside its interval; later ones may start before it by a few cycles, which is part of overhead_ns. */
static inline uint64_t volley_now(void) {
#if defined(__x86_64__)
    if (__builtin_expect(volley.use_ticks, 1)) {
        unsigned int cpu;
        return __rdtscp(&cpu);
    }
#elif defined(__aarch64__)
    if (__builtin_expect(volley.use_ticks, 1)) {
        uint64_t ticks;
        __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
        return ticks;
    }
#endif
    return volley_monotonic_ns();
}

/** Whether the tick counter may serve as clock for all cores: invariant by CPUID, and the kernel still
 *  lists it as a clock source (it strikes the counter off when cores disagree). */
static inline int volley_ticks_usable(void) {
#if defined(__x86_64__)
    unsigned int a, b, c, d;
    if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & (1u << 8))) return 0;
    char sources[256] = "";
    int file = open("/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY);
    if (file < 0) return 0;
    ssize_t length = read(file, sources, sizeof sources - 1);
    close(file);
    return length > 0 && strstr(sources, "tsc") != NULL;
#elif defined(__aarch64__)
    return 1; /* the generic timer is one system-wide counter (Arm ARM, D12.1) */
#else
    return 0;
#endif
}

/** A pair (ticks, CLOCK_MONOTONIC ns) taken together: the closest of several tries. */
static inline void volley_clock_pair(uint64_t *ticks, uint64_t *ns) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t before = volley_now(), middle = volley_monotonic_ns(), after = volley_now();
        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = middle;
        }
    }
}

/* ---- samples ------------------------------------------------------------------------------------ */

/** Learns ticks_per_ns from the launch's first clock pair and one some milliseconds later: each pair is good to
 *  some ten ns, so the rate is good to about ten parts in a million. (Durations in the files stay in ticks; the
 *  laboratory converts them by the first and last pair of the whole launch.) */
static inline void volley_measure_rate(void) {
    enum { LEAST_NS = 5000000 };
    uint64_t ticks = 0, ns = 0;
    while (volley_monotonic_ns() < volley.first_ns + LEAST_NS) {}
    volley_clock_pair(&ticks, &ns);
    volley.ticks_per_ns = (double)(ticks - volley.first_tick) / (double)(ns - volley.first_ns);
}

static inline uint64_t volley_ticks_in(double nanoseconds) {
    return (uint64_t)(nanoseconds * volley.ticks_per_ns);
}

static inline double volley_ns_in(uint64_t ticks) {
    return (double)ticks / volley.ticks_per_ns;
}

/** Keeps one operation's start and end (both from volley_now()). */
static inline void volley_record(uint64_t start, uint64_t end) {
    uint64_t index = volley.count;
    if (__builtin_expect(index < volley.capacity, 1)) {
        volley.samples[index].start = start;
        volley.samples[index].duration = end - start;
        volley.count = index + 1;
    } else
        volley.dropped++;
    volley.activity++;
}

/** The same for events that only volley_monotonic_ns() saw, such as those before this process began. */
static inline void volley_record_ns(uint64_t start_ns, uint64_t end_ns) {
    double after_first = (double)((int64_t)start_ns - (int64_t)volley.first_ns);
    uint64_t start = volley.first_tick + (uint64_t)(int64_t)(after_first * volley.ticks_per_ns);
    volley_record(start, start + volley_ticks_in((double)(end_ns - start_ns)));
}

/** Page-aligned memory of at least `bytes`, touched, kept between points; contents undefined. */
static inline void *volley_buffer(int index, size_t bytes) {
    size_t wanted = (bytes + 4096 + 4095) & ~(size_t)4095;
    if (volley.buffer_bytes[index] < wanted) {
        if (volley.buffers[index]) munmap(volley.buffers[index], volley.buffer_bytes[index]);
        void *memory = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) volley_die("no memory for a buffer of %zu bytes: %s", wanted, strerror(errno));
        memset(memory, 0, wanted);
        volley.buffers[index] = memory;
        volley.buffer_bytes[index] = wanted;
    }
    return volley.buffers[index];
}

/** Eight bytes of the known content of message (sender, salt): a hash of their position, so that a shifted,
 *  swapped, stale or lost part shows in all but one of 256 of its bytes, and no period fits a cache line or page.
 *  Two multiplications for eight bytes: several GB/s, since a check fills and compares up to gigabytes. */
static inline uint64_t volley_word(uint64_t index, uint64_t key) {
    uint64_t x = (index + key) * 0x9E3779B97F4A7C15u;
    x ^= x >> 32;
    return x * 0xD6E8FEB86659FD93u;
}

static inline uint64_t volley_key(int sender, uint64_t salt) {
    uint64_t x = ((uint64_t)sender + 1) * 0xC2B2AE3D27D4EB4Fu + salt * 0x165667B19E3779F9u;
    return x ^ x >> 29;
}

static inline void volley_fill_masked(void *buffer, size_t bytes, int sender, uint64_t salt, uint64_t mask) {
    unsigned char *byte = buffer;
    uint64_t key = volley_key(sender, salt), index = 0;
    for (; bytes >= 8; bytes -= 8, byte += 8) {
        uint64_t word = volley_word(index++, key) ^ mask;
        memcpy(byte, &word, 8);
    }
    uint64_t word = volley_word(index, key) ^ mask;
    memcpy(byte, &word, bytes);
}

/** Fills a buffer to be sent with the known content of message (sender, salt). */
static inline void volley_fill(void *buffer, size_t bytes, int sender, uint64_t salt) {
    volley_fill_masked(buffer, bytes, sender, salt, 0);
}

/** Fills a buffer to be received into so that every byte that does not arrive is wrong. */
static inline void volley_poison(void *buffer, size_t bytes, int sender, uint64_t salt) {
    volley_fill_masked(buffer, bytes, sender, salt, UINT64_MAX);
}

/** Number of bytes that differ from what volley_fill() wrote with the same arguments. */
static inline uint64_t volley_wrong(const void *buffer, size_t bytes, int sender, uint64_t salt) {
    const unsigned char *byte = buffer;
    uint64_t key = volley_key(sender, salt), index = 0, wrong = 0;
    for (; bytes >= 8; bytes -= 8, byte += 8) {
        uint64_t seen, difference;
        memcpy(&seen, byte, 8);
        difference = seen ^ volley_word(index++, key);
        for (; __builtin_expect(difference != 0, 0); difference >>= 8) wrong += (difference & 255) != 0;
    }
    uint64_t word = volley_word(index, key);
    for (size_t i = 0; i < bytes; i++) wrong += byte[i] != ((const unsigned char *)&word)[i];
    return wrong;
}

/* ---- facts -------------------------------------------------------------------------------------- */

/** Appends one JSON object, given as printf arguments, to this rank's facts. */
__attribute__((format(printf, 1, 2))) static inline void volley_fact(const char *format, ...) {
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof line - 1) volley_die("a fact is longer than %zu bytes", sizeof line);
    line[length++] = '\n';
    if (write(volley.facts_file, line, (size_t)length) != length)
        volley_die("cannot write facts to %s: %s", volley.folder, strerror(errno));
}

static inline void volley_open_facts(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/rank-%d.jsonl", volley.folder, volley.rank);
    volley.facts_file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (volley.facts_file < 0) volley_die("cannot create %s: %s", path, strerror(errno));
}

/** Writes samples and block table. Called at the end, or by the watchdog: only async-signal-safe calls
 *  besides snprintf on local memory. Returns 0, or -1 with errno. */
static inline int volley_save(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/rank-%d.samples", volley.folder, volley.rank);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return -1;
    const char *from = (const char *)volley.samples;
    size_t left = volley.count * sizeof(struct volley_sample);
    while (left > 0) {
        ssize_t written = write(file, from, left);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return -1;
        from += written;
        left -= (size_t)written;
    }
    for (uint32_t i = 0; i < volley.block_count; i++) {
        const struct volley_block *block = &volley.blocks[i];
        if (block->count == 0) continue;
        volley_fact("{\"fact\": \"block\", \"size\": %" PRIu64 ", \"variant\": \"%s\", \"first\": %" PRIu64
                    ", \"count\": %" PRIu64 "}",
                    block->size, volley.points[block->point].variant, block->first, block->count);
    }
    if (volley.dropped)
        volley_fact("{\"fact\": \"samples_dropped\", \"count\": %" PRIu64 ", \"room\": %" PRIu64 "}", volley.dropped,
                    volley.capacity);
    uint64_t ticks = 0, ns = 0;
    volley_clock_pair(&ticks, &ns);
    volley_fact("{\"fact\": \"clock\", \"kind\": \"%s\", \"first_tick\": %" PRIu64 ", \"first_ns\": %" PRIu64
                ", \"last_tick\": %" PRIu64 ", \"last_ns\": %" PRIu64
                ", \"overhead_ns\": %.2f, \"align_ticks\": %" PRIu64 "}",
                volley.use_ticks ? "ticks" : "monotonic", volley.first_tick, volley.first_ns, ticks, ns,
                volley.overhead_ns, volley.align_ticks);
    return close(file);
}

/* ---- watchdog ----------------------------------------------------------------------------------- */

/** Runs VOLLEY_WATCH_TURNS times in freeze_seconds. If nothing was recorded and no phase began for all of them,
 *  saves what there is, says where it stands, and ends the process: a freeze is a result. It runs inside a signal
 *  handler, at any instruction of the main thread (which hangs) or on a thread of the MPI: only system calls, and
 *  snprintf into local memory, which takes no lock and, for these formats, no heap in glibc and musl. */
static void volley_watch(int signal_number) {
    static uint64_t last_activity = UINT64_MAX;
    static volatile int quiet_turns, ending;
    (void)signal_number;
    if (ending) return; /* on another thread, while the first is in its grace */
    if (volley.activity != last_activity) {
        last_activity = volley.activity;
        quiet_turns = 0;
        return;
    }
    if (++quiet_turns < VOLLEY_WATCH_TURNS || __atomic_exchange_n(&ending, 1, __ATOMIC_ACQ_REL)) return;
    if (volley.facts_file < 0) {
#ifndef VOLLEY_NO_MPI
        if (volley.init_ns == 0) volley.rank = 1000000 + (int)getpid(); /* MPI_Init has not told us yet */
#endif
        volley_open_facts();
    }
    const struct volley_point *point = volley.points ? &volley.points[volley.current_point] : NULL;
    volley_fact("{\"fact\": \"frozen\", \"phase\": \"%s\", \"size\": %" PRIu64
                ", \"variant\": \"%s\", \"after_seconds\": %ld.%03ld}",
                volley.phase, point ? point->size : 0, point ? point->variant : "", (long)volley.freeze_seconds,
                (long)(1000 * volley.freeze_seconds) % 1000);
    if (volley.samples && volley.blocks) {
        if (volley.block_open) /* the block in flight ends where its samples do */
            volley.blocks[volley.block_count - 1].count = volley.count - volley.blocks[volley.block_count - 1].first;
        volley_save();
    }
    /* The launcher kills the other ranks once this one has ended; they see the freeze up to one turn later. */
    double grace = 1.3 * volley.freeze_seconds / VOLLEY_WATCH_TURNS;
    struct timespec rest = {.tv_sec = (time_t)grace};
    rest.tv_nsec = (long)((grace - (double)rest.tv_sec) * 1e9);
    nanosleep(&rest, NULL);
    _exit(VOLLEY_EXIT_FROZEN);
}

static inline void volley_start_watchdog(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = volley_watch;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    double turn = volley.freeze_seconds / VOLLEY_WATCH_TURNS;
    struct itimerval interval;
    interval.it_interval.tv_sec = (time_t)turn;
    interval.it_interval.tv_usec = (suseconds_t)((turn - (double)interval.it_interval.tv_sec) * 1e6);
    interval.it_value = interval.it_interval;
    setitimer(ITIMER_REAL, &interval, NULL);
}

static inline void volley_stop_watchdog(void) {
    struct itimerval never;
    memset(&never, 0, sizeof never);
    setitimer(ITIMER_REAL, &never, NULL);
}

static inline void volley_phase(const char *phase) {
    volley.phase = phase;
    volley.activity++;
}

/* ---- ranks talking to each other outside the timed part ------------------------------------------ */

#ifndef VOLLEY_NO_MPI

/** Dissemination barrier (Hensgen, Finkel, Manber 1988) on plain MPI_Sendrecv that carries the maximum of
 *  `value`: ceil(log2 ranks) rounds, and every rank returns the same maximum. Our own, so that the MPI's
 *  barrier algorithm is not part of what is measured. */
static inline uint64_t volley_maximum(uint64_t value) {
    for (int distance = 1; distance < volley.ranks; distance *= 2) {
        int to = (volley.rank + distance) % volley.ranks;
        int from = (volley.rank - distance + volley.ranks) % volley.ranks;
        uint64_t other = 0;
        MPI_Sendrecv(&value, 8, MPI_BYTE, to, VOLLEY_TAG, &other, 8, MPI_BYTE, from, VOLLEY_TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (other > value) value = other;
    }
    return value;
}

#else

/** What forked ranks share: a barrier and one value of each. */
struct volley_shared {
    pthread_barrier_t barrier;
    uint64_t values[256];
};

static inline uint64_t volley_maximum(uint64_t value) {
    volley.shared->values[volley.rank] = value;
    pthread_barrier_wait(&volley.shared->barrier);
    uint64_t maximum = 0;
    for (int i = 0; i < volley.ranks; i++)
        if (volley.shared->values[i] > maximum) maximum = volley.shared->values[i];
    pthread_barrier_wait(&volley.shared->barrier);
    return maximum;
}

#endif

/** Returns when every rank has called it. */
static inline void volley_synchronise(void) {
    (void)volley_maximum(0);
}

/** Lets all ranks go at the same tick: everyone learns the latest arrival and waits until a fixed time
 *  after it (align_ticks, long enough for the news to spread; 0 where ranks outnumber cores, since a spin
 *  there only keeps another rank from running). Needs one clock for all ranks, as on one host. */
static inline void volley_align(void) {
    uint64_t go = volley_maximum(volley_now()) + volley.align_ticks;
    uint64_t limit = volley_now() + volley.align_ticks; /* later only if the ranks' clocks are not one clock */
    if (go > limit) go = limit;
    if (volley.align_ticks)
        while (volley_now() < go) {}
}

/* ---- the frame ---------------------------------------------------------------------------------- */

/** CPUs these ranks may use on this host: those of launch.txt, else all that are on line. */
static inline int volley_cores(void) {
    int cores = 0;
    for (int i = 0; i < volley.cpu_count; i++) {
        int known = 0;
        for (int j = 0; j < i; j++) known |= volley.cpus[j] == volley.cpus[i];
        cores += !known;
    }
    return cores ? cores : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

typedef uint64_t (*volley_check_function)(const struct volley_point *point);
typedef void (*volley_measure_function)(const struct volley_point *point, uint64_t repetitions);

static inline double volley_read_number(const char *path, const char *key, const char *text) {
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= 0)) volley_die("%s: %s is \"%s\", not a number >= 0", path, key, text);
    return number;
}

static inline uint64_t volley_read_count(const char *path, const char *key, const char *text) {
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    if (end == text || *end || *text == '-' || errno)
        volley_die("%s: %s is \"%s\", not a whole number >= 0", path, key, text);
    return number;
}

static inline void volley_add_point(uint64_t size, const char *variant) {
    static uint32_t capacity;
    if (volley.point_count == capacity) {
        capacity = capacity ? 2 * capacity : 64;
        volley.points = realloc(volley.points, capacity * sizeof *volley.points);
        if (!volley.points) volley_die("no memory for %u points", capacity);
    }
    struct volley_point *point = &volley.points[volley.point_count++];
    point->size = size;
    snprintf(point->variant, sizeof point->variant, "%s", variant);
}

static inline void volley_read_launch(void) {
    char path[4096], line[512];
    snprintf(path, sizeof path, "%s/launch.txt", volley.folder);
    FILE *file = fopen(path, "re");
    if (!file) volley_die("cannot read %s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file)) {
        char key[64] = "", value[384] = "", variant[64] = "-";
        int words = sscanf(line, "%63s %383s %63s", key, value, variant);
        if (words < 1) continue;
        if (words < 2) volley_die("%s: \"%s\" has no value", path, key);
        if (!strcmp(key, "freeze_seconds"))
            volley.freeze_seconds = volley_read_number(path, key, value);
        else if (!strcmp(key, "limit_seconds"))
            volley.limit_seconds = volley_read_number(path, key, value);
        else if (!strcmp(key, "seconds_per_point"))
            volley.seconds_per_point = volley_read_number(path, key, value);
        else if (!strcmp(key, "minimum_repetitions"))
            volley.minimum_repetitions = volley_read_count(path, key, value);
        else if (!strcmp(key, "maximum_repetitions"))
            volley.maximum_repetitions = volley_read_count(path, key, value);
        else if (!strcmp(key, "launched_ns"))
            volley.launched_ns = volley_read_count(path, key, value);
        else if (!strcmp(key, "seed"))
            volley.seed = volley_read_count(path, key, value);
        else if (!strcmp(key, "ranks"))
            volley.ranks = (int)volley_read_count(path, key, value);
        else if (!strcmp(key, "cpu") && volley.cpu_count < VOLLEY_MAXIMUM_CPUS)
            volley.cpus[volley.cpu_count++] = (int)volley_read_count(path, key, value);
        else if (!strcmp(key, "point"))
            volley_add_point(volley_read_count(path, key, value), variant);
        else
            volley_die("%s: unknown key \"%s\"", path, key);
    }
    fclose(file);
    if (volley.freeze_seconds <= 0) volley_die("%s: no freeze_seconds above 0", path);
    if (volley.maximum_repetitions == 0) volley_die("%s: no maximum_repetitions above 0", path);
    if (volley.point_count == 0) volley_die("%s: no point to measure", path);
}

/** Binds this rank to its CPU of launch.txt (rank modulo their number) and states the affinity that holds. */
static inline void volley_pin(void) {
    cpu_set_t set;
    if (volley.cpu_count > 0) {
        size_t wanted = (size_t)volley.cpus[volley.rank % volley.cpu_count];
        CPU_ZERO(&set);
        CPU_SET(wanted, &set);
        if (sched_setaffinity(0, sizeof set, &set) != 0)
            volley_fact("{\"fact\": \"pin_failed\", \"cpu\": %zu, \"errno\": %d}", wanted, errno);
    }
    char list[2048] = "";
    size_t length = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (size_t cpu = 0; cpu < CPU_SETSIZE && length < sizeof list - 16; cpu++)
            if (CPU_ISSET(cpu, &set))
                length += (size_t)snprintf(list + length, sizeof list - length, "%s%zu", length ? ", " : "", cpu);
    volley_fact("{\"fact\": \"rank\", \"rank\": %d, \"ranks\": %d, \"pid\": %d, \"affinity\": [%s]}", volley.rank,
                volley.ranks, (int)getpid(), list);
}

/** What it costs to record one operation in a chain (one clock read, two stores): the least of five averages. */
static inline void volley_measure_overhead(void) {
    enum { TURNS = 2000 };
    double best = 1e9;
    for (int attempt = 0; attempt < 5; attempt++) {
        volley.count = 0;
        uint64_t begin_ns = volley_monotonic_ns(), previous = volley_now();
        for (int i = 0; i < TURNS; i++) {
            uint64_t now = volley_now();
            volley_record(previous, now);
            previous = now;
        }
        double each = (double)(volley_monotonic_ns() - begin_ns) / TURNS;
        if (each < best) best = each;
    }
    volley.count = 0;
    volley.overhead_ns = best;
}

/** How many ticks the news of the last arrival takes to reach every rank (see volley_align). */
static inline void volley_measure_align(void) {
    volley.align_ticks = 0;
    if (volley_maximum(volley.ranks > volley_cores())) return; /* agreed, as hosts may differ */
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t start = volley_now();
        volley_synchronise();
        uint64_t took = volley_now() - start;
        if (i >= 5 && took < best) best = took;
    }
    volley.align_ticks = 2 * volley_maximum(best);
}

static inline void volley_allocate_samples(void) {
    volley.capacity = (uint64_t)volley.point_count * (volley.maximum_repetitions + 64) + 4096;
    size_t bytes = volley.capacity * sizeof(struct volley_sample);
    volley.samples = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (volley.samples == MAP_FAILED)
        volley_die("no memory for %" PRIu64 " samples: %s", volley.capacity, strerror(errno));
    volley.block_capacity = 4 * volley.point_count + 1024;
    volley.blocks = calloc(volley.block_capacity, sizeof *volley.blocks);
    if (!volley.blocks) volley_die("no memory for the table of blocks");
}

static inline void volley_end_block(void) {
    if (!volley.block_open) return;
    struct volley_block *block = &volley.blocks[volley.block_count - 1];
    block->count = volley.count - block->first;
    volley.block_open = 0;
}

/** Samples recorded from now on belong to `point`, at `size` (bisecting tests choose sizes themselves). Ends the
 *  block before; blocks without samples are not written. */
static inline void volley_begin_block(uint32_t point, uint64_t size) {
    volley_end_block();
    if (volley.block_count == volley.block_capacity)
        volley_die("more than %u blocks of samples", volley.block_capacity);
    volley.blocks[volley.block_count++] =
        (struct volley_block){.point = point, .size = size, .first = volley.count, .count = 0};
    volley.block_open = 1;
}

/** How many repetitions fill seconds_per_point, learnt from short unrecorded runs; equal on all ranks. */
static inline uint64_t volley_choose_repetitions(volley_measure_function measure, const struct volley_point *point) {
    enum { PROBE = 3 };
    if (volley.maximum_repetitions <= volley.minimum_repetitions) return volley.maximum_repetitions;
    uint64_t mark = volley.count;
    uint64_t first = volley_monotonic_ns();
    measure(point, 1);
    uint64_t cold = volley_monotonic_ns() - first;
    uint64_t probed = cold;
    volley.count = mark;
    if ((double)volley_maximum(cold) < 1e9 * volley.seconds_per_point) { /* else one look is enough */
        uint64_t second = volley_monotonic_ns();
        measure(point, PROBE);
        probed = (volley_monotonic_ns() - second) / PROBE;
        volley.count = mark;
    }
    uint64_t each = volley_maximum(probed ? probed : 1);
    double fitting = volley.seconds_per_point * 1e9 / (double)each;
    if (fitting < (double)volley.minimum_repetitions) return volley.minimum_repetitions;
    if (fitting > (double)volley.maximum_repetitions) return volley.maximum_repetitions;
    return (uint64_t)fitting;
}

static inline void volley_run_point(uint32_t index, volley_check_function check, volley_measure_function measure) {
    const struct volley_point *point = &volley.points[index];
    volley.current_point = index;
    volley_phase("check");
    uint64_t wrong = check ? check(point) : 0;
    if (wrong)
        volley_fact("{\"fact\": \"mismatch\", \"size\": %" PRIu64 ", \"variant\": \"%s\", \"wrong_bytes\": %" PRIu64
                    "}",
                    point->size, point->variant, wrong);
    if (volley_maximum(wrong) > 0) return; /* wrong bytes are reported, not timed */
    volley_phase("warm-up");
    uint64_t repetitions = volley_choose_repetitions(measure, point);
    volley_phase("measure");
    volley_synchronise();
    volley_begin_block(index, point->size);
    measure(point, repetitions);
    volley_end_block();
    if (volley.end_of_point) volley.end_of_point(point);
}

/** Whether the launch's time is over; the same answer on all ranks. */
static inline int volley_time_is_over(void) {
    double seconds = (double)(volley_monotonic_ns() - volley.main_ns) * 1e-9;
    return volley_maximum(volley.limit_seconds > 0 && seconds > volley.limit_seconds) != 0;
}

static inline void volley_run_points(volley_check_function check, volley_measure_function measure) {
    uint32_t reached = 0;
    while (reached < volley.point_count && !volley_time_is_over()) volley_run_point(reached++, check, measure);
    for (uint32_t i = reached; i < volley.point_count && volley.rank == 0; i++)
        volley_fact("{\"fact\": \"cut\", \"size\": %" PRIu64 ", \"variant\": \"%s\"}", volley.points[i].size,
                    volley.points[i].variant);
}

static inline void volley_finish(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    volley_fact("{\"fact\": \"usage\", \"voluntary_switches\": %ld, \"involuntary_switches\": %ld, \"minor_faults\": "
                "%ld, \"peak_kib\": %ld}",
                usage.ru_nvcsw, usage.ru_nivcsw, usage.ru_minflt, usage.ru_maxrss);
    if (volley_save() != 0) volley_die("cannot write samples to %s: %s", volley.folder, strerror(errno));
    volley_fact("{\"fact\": \"complete\"}");
}

#ifdef VOLLEY_NO_MPI
/** The worst exit status of the ranks that ended so far; a signal counts as 128 + its number, as in a shell. */
static volatile int volley_worst_status;

static inline void volley_note_status(int status) {
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code > volley_worst_status) volley_worst_status = code;
}

/** A rank that died would leave the others waiting until they count as frozen: rank 0 ends the job instead. A
 *  frozen rank ends by itself, and so do the others. */
static void volley_rank_ended(int signal_number) {
    int status, saved_errno = errno;
    (void)signal_number;
    while (waitpid(-1, &status, WNOHANG) > 0) volley_note_status(status);
    if (volley_worst_status != 0 && volley_worst_status != VOLLEY_EXIT_FROZEN) _exit(volley_worst_status);
    errno = saved_errno;
}

/** Forks ranks 1 to ranks-1; returns in each rank. Rank 0 is the parent and collects their statuses. */
static inline void volley_fork_ranks(void) {
    if (volley.ranks < 1 || volley.ranks > 256) volley_die("ranks must be 1 to 256, not %d", volley.ranks);
    volley.shared = mmap(NULL, sizeof *volley.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (volley.shared == MAP_FAILED) volley_die("no shared memory: %s", strerror(errno));
    if (VOLLEY_SHARED_BYTES > 0) {
        /* At a multiple of 2 MiB, or it could not have huge pages. */
        const uintptr_t huge = 2 << 20;
        char *room = mmap(NULL, VOLLEY_SHARED_BYTES + huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED) volley_die("no room for shared memory: %s", strerror(errno));
        volley.shared_memory = mmap(room + (huge - (uintptr_t)room % huge), VOLLEY_SHARED_BYTES, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (volley.shared_memory == MAP_FAILED)
            volley_die("no %zu bytes of shared memory: %s", (size_t)VOLLEY_SHARED_BYTES, strerror(errno));
    }
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&volley.shared->barrier, &attributes, (unsigned)volley.ranks);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = volley_rank_ended;
    action.sa_flags = SA_RESTART;
    sigaction(SIGCHLD, &action, NULL);
    for (int rank = 1; rank < volley.ranks; rank++) {
        pid_t child = fork();
        if (child < 0) volley_die("cannot fork rank %d: %s", rank, strerror(errno));
        if (child == 0) {
            volley.rank = rank;
            signal(SIGCHLD, SIG_DFL);
            return;
        }
    }
}

static inline int volley_collect_ranks(void) {
    int status;
    signal(SIGCHLD, SIG_DFL);
    while (wait(&status) > 0) volley_note_status(status);
    return volley_worst_status;
}
#endif

static inline int volley_main(int argc, char **argv, volley_check_function check, volley_measure_function measure) {
    volley.main_ns = volley_monotonic_ns();
#ifdef VOLLEY_NO_MPI
    if (argc < 2) volley_die("usage: %s FOLDER (with launch.txt in it)", argv[0]);
    snprintf(volley.folder, sizeof volley.folder, "%s", argv[1]);
    volley_read_launch();
    volley_fork_ranks();
    volley_start_watchdog();
#else
    if (argc >= 2) { /* some old launchers hand over the arguments only within MPI_Init */
        snprintf(volley.folder, sizeof volley.folder, "%s", argv[1]);
        volley_read_launch();
        volley_start_watchdog();
    }
    volley_phase("MPI_Init");
    MPI_Init(&argc, &argv);
    volley.init_ns = volley_monotonic_ns();
    if (volley.point_count == 0) {
        if (argc < 2) volley_die("usage: mpiexec -n RANKS %s FOLDER (with launch.txt in it)", argv[0]);
        snprintf(volley.folder, sizeof volley.folder, "%s", argv[1]);
        volley_read_launch();
        volley_start_watchdog();
    }
    int wanted_ranks = volley.ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &volley.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &volley.ranks);
    if (wanted_ranks && wanted_ranks != volley.ranks)
        volley_die("the launcher made a world of %d ranks where %d were asked for; is it another MPI's launcher?",
                   volley.ranks, wanted_ranks);
    volley_phase("first barrier");
    MPI_Barrier(MPI_COMM_WORLD);
    volley.barrier_ns = volley_monotonic_ns();
#endif
    volley_open_facts();
#ifndef VOLLEY_NO_MPI
    volley_fact("{\"fact\": \"startup\", \"launched_ns\": %" PRIu64 ", \"main_ns\": %" PRIu64 ", \"init_ns\": %" PRIu64
                ", \"barrier_ns\": %" PRIu64 "}",
                volley.launched_ns, volley.main_ns, volley.init_ns, volley.barrier_ns);
#endif
    volley_pin();
    volley.use_ticks = volley_ticks_usable();
    volley_allocate_samples();
    volley_clock_pair(&volley.first_tick, &volley.first_ns);
    volley_phase("calibrate");
    volley_measure_overhead();
    volley_measure_rate();
    volley_synchronise();
    volley_measure_align();
    volley_run_points(check, measure);
    volley_phase("finish");
    volley_finish();
#ifndef VOLLEY_NO_MPI
    volley_phase("MPI_Finalize");
    MPI_Finalize();
    volley_stop_watchdog();
    return 0;
#else
    volley_stop_watchdog();
    return volley.rank == 0 ? volley_collect_ranks() : 0;
#endif
}

#define VOLLEY_TEST(check, measure)                                                                                    \
    int main(int argc, char **argv) {                                                                                  \
        return volley_main(argc, argv, check, measure);                                                                \
    }

#endif
