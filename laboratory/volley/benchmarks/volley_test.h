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
 * The laboratory reads both (laboratory/volley/measure/rank_files.py is the other side of this format).
 *
 * Timing: one clock read costs some ten nanoseconds; a chained test (the end of one operation is the
 * start of the next) pays one read per operation. What recording costs is measured in every launch and
 * reported as overhead_ns.
 */
#ifndef VOLLEY_TEST_H
#define VOLLEY_TEST_H

#include "volley_events.h"
#include "volley_payload.h"
#include "volley_ranks.h"
#include "volley_samples.h"
#include "volley_watchdog.h"

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

/* Away from MPI until then: computing if there is a core for each rank, else asleep (or one would keep the other from
 * it). With a function to call `meanwhile` not quite: it is called all the while. */
static inline void volley_stay_away(uint64_t deadline, void (*meanwhile)(void *), void *argument) {
    const struct timespec nap = {.tv_nsec = 50000};
    while (volley_now() < deadline) {
        if (meanwhile) meanwhile(argument);
        if (volley_cores() < 2) nanosleep(&nap, NULL);
    }
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

/** A line "host NAME CPU,CPU,…": the CPUs that ranks on that host are bound to; "-": none. */
static inline void volley_read_host(const char *name, const char *cpus) {
    if (!volley.hosts_named++) gethostname(volley.host, sizeof volley.host - 1);
    if (strcmp(name, volley.host)) return;
    for (const char *at = cpus; *at >= '0' && *at <= '9' && volley.cpu_count < VOLLEY_MAXIMUM_CPUS;) {
        char *end;
        volley.cpus[volley.cpu_count++] = (int)strtol(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
}

static inline void volley_read_launch(void) {
    char path[4096], line[1600];
    snprintf(path, sizeof path, "%s/launch.txt", volley.folder);
    FILE *file = fopen(path, "re");
    if (!file) volley_die("cannot read %s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file)) {
        char key[64] = "", value[384] = "", variant[1024] = "-";
        int words = sscanf(line, "%63s %383s %1023s", key, value, variant);
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
        else if (!strcmp(key, "count_events"))
            volley.count_events = volley_read_count(path, key, value) != 0;
        else if (!strcmp(key, "writes_buffers"))
            volley.writes_buffers = volley_read_count(path, key, value) != 0;
        else if (!strcmp(key, "cpu") && volley.cpu_count < VOLLEY_MAXIMUM_CPUS)
            volley.cpus[volley.cpu_count++] = (int)volley_read_count(path, key, value);
        else if (!strcmp(key, "host"))
            volley_read_host(value, variant);
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

/** Binds this rank to its CPU of launch.txt (its number on this host modulo theirs) and states the affinity that holds.
 */
static inline void volley_pin(void) {
    cpu_set_t set;
    if (volley.cpu_count > 0) {
        size_t wanted = (size_t)volley.cpus[volley.local_rank % volley.cpu_count];
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
    volley_fact("{\"fact\": \"rank\", \"rank\": %d, \"ranks\": %d, \"pid\": %d, \"host\": \"%s\", \"affinity\": [%s]}",
                volley.rank, volley.ranks, (int)getpid(), volley.host, list);
}

/** What it costs to record one operation in a chain (one clock read, two stores): the least of many short averages,
 *  since other programs may interrupt some. */
static inline void volley_measure_overhead(void) {
    enum { TURNS = 250, ATTEMPTS = 40 };
    double best = 1e9;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
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
    if (volley.host_count > 1 || volley_maximum(volley.ranks > volley_cores())) return;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t start = volley_now();
        volley_synchronise();
        uint64_t took = volley_now() - start;
        if (i >= 5 && took < best) best = took;
    }
    volley.align_ticks = 2 * volley_maximum(best);
}

/** How many repetitions fill seconds_per_point, learnt from unrecorded runs of 1, 2, 4, … operations; equal on all
 *  ranks. The fastest of the runs counts, since a run may fall into another program's time slice; runs end once
 *  they have taken an eighth of the time, or the first alone more than all of it. */
static inline uint64_t volley_choose_repetitions(volley_measure_function measure, const struct volley_point *point) {
    enum { LEAST_RUNS = 3 };
    if (volley.maximum_repetitions <= volley.minimum_repetitions) return volley.maximum_repetitions;
    double available = volley.seconds_per_point * 1e9, spent = 0, each = 0;
    uint64_t mark = volley.count;
    for (uint64_t run = 0, count = 1; count <= volley.maximum_repetitions; run++, count *= 2) {
        uint64_t start = volley_monotonic_ns();
        measure(point, count);
        uint64_t took = volley_maximum(volley_monotonic_ns() - start);
        volley.count = mark;
        if (run == 0 || (double)took / (double)count < each) each = (double)took / (double)count;
        spent += (double)took;
        if (spent > available || (run + 1 >= LEAST_RUNS && spent > available / 8)) break;
    }
    double fitting = available / (each > 1 ? each : 1);
    if (fitting < (double)volley.minimum_repetitions) return volley.minimum_repetitions;
    if (fitting > (double)volley.maximum_repetitions) return volley.maximum_repetitions;
    return (uint64_t)fitting;
}

/** The number behind `name` in a point's variant; 0 if that is another. */
static inline size_t volley_variant_number(const struct volley_point *point, const char *name) {
    size_t length = strlen(name);
    return strncmp(point->variant, name, length) ? 0 : (size_t)strtoull(point->variant + length, NULL, 10);
}

static inline void volley_run_point(uint32_t index, volley_check_function check, volley_measure_function measure) {
    const struct volley_point *point = &volley.points[index];
    volley.current_point = index;
    volley.cold_bytes = volley_variant_number(point, "cold:");
    volley.shift_bytes = volley_variant_number(point, "shifted:");
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
    struct volley_counts counted = volley_read_events();
    volley_begin_block(index, point->size);
    measure(point, repetitions);
    volley_end_block();
    volley_say_events(point, repetitions, &counted);
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

/** A number that the kernel keeps of this process's scheduling, from `file` behind `name`; -1 where it keeps none. */
static inline double volley_scheduling(const char *file, const char *name) {
    char line[256];
    double found = -1;
    FILE *stream = fopen(file, "re");
    if (!stream) return -1;
    while (found < 0 && fgets(line, sizeof line, stream)) {
        const char *at = strstr(line, name);
        if (at && sscanf(at + strlen(name), "%*[ :]%lf", &found) != 1) found = -1;
    }
    fclose(stream);
    return found;
}

/** What this rank has used, and how the scheduler treated it: for the launch's counters. */
static inline void volley_say_usage(void) {
    struct rusage usage;
    unsigned long long waiting_ns = 0;
    char scheduling[128] = "";
    getrusage(RUSAGE_SELF, &usage);
    double cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    double migrations = volley_scheduling("/proc/self/sched", "nr_migrations");
    int length = 0;
    if (migrations >= 0) length = snprintf(scheduling, sizeof scheduling, ", \"migrations\": %.0f", migrations);
    /* Documentation/scheduler/sched-stats.rst: ns on a CPU, ns ready and waiting for one, times it got one */
    FILE *stream = fopen("/proc/self/schedstat", "re");
    if (stream) {
        if (fscanf(stream, "%*u %llu", &waiting_ns) == 1)
            snprintf(scheduling + length, sizeof scheduling - (size_t)length, ", \"waiting_seconds\": %.6f",
                     1e-9 * (double)waiting_ns);
        fclose(stream);
    }
    volley_fact("{\"fact\": \"usage\", \"voluntary_switches\": %ld, \"involuntary_switches\": %ld, \"minor_faults\": "
                "%ld, \"peak_kib\": %ld, \"cpu_seconds\": %.6f%s}",
                usage.ru_nvcsw, usage.ru_nivcsw, usage.ru_minflt, usage.ru_maxrss, cpu_seconds, scheduling);
}

static inline void volley_finish(void) {
    volley_say_usage();
    if (volley_save() != 0) volley_die("cannot write samples to %s: %s", volley.folder, strerror(errno));
    volley_fact("{\"fact\": \"complete\"}");
}

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
    volley_find_hosts();
    volley_open_facts();
#ifndef VOLLEY_NO_MPI
    volley_fact("{\"fact\": \"startup\", \"launched_ns\": %" PRIu64 ", \"main_ns\": %" PRIu64 ", \"init_ns\": %" PRIu64
                ", \"barrier_ns\": %" PRIu64 "}",
                volley.launched_ns, volley.main_ns, volley.init_ns, volley.barrier_ns);
#endif
    volley_pin();
    volley.use_ticks = volley_ticks_usable();
    volley_start_events();
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
