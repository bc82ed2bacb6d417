/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks talking to each other outside the timed part; without MPI also making and ending them.
 * Part of the frame; tests include volley_test.h.
 */
#ifndef VOLLEY_RANKS_H
#define VOLLEY_RANKS_H

#include "volley_samples.h"

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

/** Learns which ranks share this rank's host. On one host there is nothing to learn, and nothing is sent. */
static inline void volley_find_hosts(void) {
    volley.local_rank = volley.rank;
    volley.host_count = 1;
    if (!volley.hosts_named) return;
    char (*names)[sizeof volley.host] = calloc((size_t)volley.ranks, sizeof *names);
    if (!names) volley_die("no memory for the names of %d hosts", volley.ranks);
    MPI_Allgather(volley.host, sizeof volley.host, MPI_BYTE, names, sizeof volley.host, MPI_BYTE, MPI_COMM_WORLD);
    volley.local_rank = volley.host_count = 0;
    for (int rank = 0; rank < volley.ranks; rank++) {
        int known = 0;
        for (int other = 0; other < rank; other++) known |= !strcmp(names[rank], names[other]);
        volley.host_count += !known;
        volley.local_rank += rank < volley.rank && !strcmp(names[rank], volley.host);
    }
    free(names);
}

#else

static inline void volley_find_hosts(void) {
    volley.local_rank = volley.rank;
    volley.host_count = 1;
}

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
 *  there only keeps another rank from running, and on several hosts, which have no common clock). */
static inline void volley_align(void) {
    uint64_t go = volley_maximum(volley_now()) + volley.align_ticks;
    uint64_t limit = volley_now() + volley.align_ticks; /* later only if the ranks' clocks are not one clock */
    if (go > limit) go = limit;
    if (volley.align_ticks)
        while (volley_now() < go) {}
}

/** When the next operation of a chain begins: when the one before ended, or, where buffers are written between
 *  operations, after writing what this rank sends (volley_buffer(index)), all ranks together. */
static inline uint64_t volley_next(uint64_t ended, int index) {
    if (!volley.writes_buffers) return ended;
    volley_renew(index);
    volley_align();
    return volley_now();
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

#endif
