/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Ceilings"
summary = "What cores and memory allow: a cache line's way to another core, bare one-copy and two-core ping-pongs."
source = "NetPIPE's memcpy module; Lockless MPI's benchmark page: L1, L2 and memory as the limits"
needs_mpi = false
pattern = "machine"
ranks = [2]
sizes = "1..16Mi"
operation = "rank 0"
scale = 0.5
variants = ["line", "pingpong1", "pingpong2", "memcpy"]
neighbours = false
*/

/* Every variant is a there and back, of which half counts:
 *
 * line       Two cores flip a flag in each other's view: nothing can be told to another core in less. It is
 *            measured at the sizes that the flag itself (8 bytes) can carry.
 * pingpong1  What one copy can do: the message lies in memory that both see; a flag says so; the receiver copies
 *            it into its own buffer, from which it sends it back. Up to 56 bytes it travels in the flag's own line.
 *            An MPI that copies twice, through small cells that stay in the caches, can be faster at 8 KiB to
 *            256 KiB: then both cores work.
 * pingpong2  The same, but sender and receiver copy half of it each: nearly twice the bandwidth of one core. As
 *            in a program that computes what it sends, every byte crosses from one core to the other: the halves
 *            are given out so that neither core copies what it wrote itself.
 * memcpy     One core copies its own buffer there and back; no other core takes part.
 * memcpy:N   The same, and each copy begins N bytes behind its source, whole pages aside: where a processor may take
 *            each load for one of what it has just stored. For experiments (`volley explain`).
 * kernel:N   The same by the kernel (process_vm_readv), as between processes.
 *
 * The least of line, pingpong1 and pingpong2 is the ceiling. The loops wait without the pause instruction, which
 * takes up to 140 cycles and would be most of a line's way. */
#define VOLLEY_NO_MPI
#define VOLLEY_SHARED_BYTES ((size_t)64 << 20)
#include "volley_test.h"

#include <stdatomic.h>
#include <sys/uio.h>

enum { INLINE_BYTES = 56, FLAG_SPACING = 256 /* two pairs of lines: the prefetcher fetches lines in pairs */ };

struct flag {
    _Atomic uint64_t turn;
    unsigned char payload[INLINE_BYTES];
    unsigned char spacing[FLAG_SPACING - 64];
};
_Static_assert(sizeof(struct flag) == FLAG_SPACING, "flags do not share cache lines");

struct shared {
    struct flag ready[2]; /* [sender]: "my message lies in my buffer" */
    struct flag done[2];  /* [sender]: "my half of my message is in your buffer" */
};

/* Both at boundaries of huge pages; refused() names the size. */
enum { BUFFER_OFFSET = 2 << 20, BUFFER_BYTES = 30 << 20 };

static uint64_t turn; /* counts messages of either direction, alike on both ranks */

static struct shared *shared(void) {
    return volley.shared_memory;
}

static unsigned char *buffer_of(int rank) {
    return (unsigned char *)volley.shared_memory + BUFFER_OFFSET + (size_t)rank * BUFFER_BYTES;
}

static inline void raise_flag(struct flag *flag) {
    atomic_store_explicit(&flag->turn, turn, memory_order_release);
}

static inline void await(struct flag *flag) {
    while (atomic_load_explicit(&flag->turn, memory_order_acquire) != turn) {}
}

/* ---- one message from `sender` to the other rank, as seen by this rank ---------------------------- */

static inline void pass_line(int sender, size_t bytes) {
    (void)bytes;
    turn++;
    if (volley.rank == sender)
        raise_flag(&shared()->ready[sender]);
    else
        await(&shared()->ready[sender]);
}

static inline void pass_one_copy(int sender, size_t bytes) {
    struct flag *ready = &shared()->ready[sender];
    unsigned char *own = buffer_of(volley.rank);
    turn++;
    if (volley.rank == sender) {
        if (bytes <= INLINE_BYTES) memcpy(ready->payload, own, bytes);
        raise_flag(ready);
    } else {
        await(ready);
        memcpy(own, bytes <= INLINE_BYTES ? ready->payload : buffer_of(sender), bytes);
    }
}

static inline void pass_two_copiers(int sender, size_t bytes) {
    struct flag *ready = &shared()->ready[sender], *done = &shared()->done[sender];
    unsigned char *from = buffer_of(sender), *to = buffer_of(1 - sender);
    size_t receivers = bytes - (bytes / 2 & ~(size_t)63); /* whole cache lines for the sender */
    turn++;
    if (volley.rank == sender) {
        raise_flag(ready);
        memcpy(to + receivers, from + receivers, bytes - receivers);
        raise_flag(done);
    } else {
        await(ready);
        memcpy(to, from, receivers);
        await(done);
    }
}

static size_t bytes_behind; /* the N of memcpy:N and kernel:N */
static int by_kernel;

/* Buffers begin at pages. The message lies in buffer 0, goes to buffer 1, and comes back. */
static unsigned char *own_place(int copies_before, size_t bytes) {
    return (unsigned char *)volley_buffer(copies_before % 2, bytes + 2 * bytes_behind) +
           (size_t)copies_before * bytes_behind;
}

static inline void copy_own(int sender, size_t bytes) {
    if (volley.rank != 0) return;
    void *to = own_place(sender + 1, bytes), *from = own_place(sender, bytes);
    if (!by_kernel) {
        memcpy(to, from, bytes);
        return;
    }
    struct iovec here = {to, bytes}, there = {from, bytes};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != (ssize_t)bytes)
        volley_die("process_vm_readv of %zu bytes: %s", bytes, strerror(errno));
}

/* ---- the test ----------------------------------------------------------------------------------- */

typedef void (*pass_function)(int sender, size_t bytes);

static pass_function function_of(const struct volley_point *point) {
    int length = 0;
    bytes_behind = 0;
    by_kernel = !strncmp(point->variant, "kernel:", 7);
    if (!strcmp(point->variant, "line")) return pass_line;
    if (!strcmp(point->variant, "pingpong1")) return pass_one_copy;
    if (!strcmp(point->variant, "pingpong2")) return pass_two_copiers;
    if (!strcmp(point->variant, "memcpy")) return copy_own;
    if (sscanf(point->variant, by_kernel ? "kernel:%4zu%n" : "memcpy:%4zu%n", &bytes_behind, &length) == 1 &&
        !point->variant[length])
        return copy_own;
    volley_die("unknown variant \"%s\"; there are line, pingpong1, pingpong2, memcpy, memcpy:BYTES and kernel:BYTES "
               "(below 10,000)",
               point->variant);
}

/* Two waiting processes on one core would measure the scheduler; and the memory they share has an end. */
static int refused(const struct volley_point *point) {
    const char *reason = NULL;
    if (volley_cores() < 2) reason = "needs two cores, and there is one";
    if (point->size > BUFFER_BYTES) reason = "is above the 30 MiB that this variant takes";
    if (!reason || function_of(point) == copy_own) return 0;
    volley_fact("{\"fact\": \"refused\", \"size\": %" PRIu64 ", \"variant\": \"%s\", \"reason\": \"%s\"}", point->size,
                point->variant, reason);
    return 1;
}

/* Huge pages if the kernel gives them (MADV_COLLAPSE, Linux 6.1): a ceiling must not be lower for want of them. */
static void ask_for_huge_pages(void) {
    static int asked;
#ifndef MADV_COLLAPSE
    enum { MADV_COLLAPSE = 25 };
#endif
    if (asked++) return;
    memset(buffer_of(volley.rank), 0, BUFFER_BYTES);
    volley_synchronise();
    if (volley.rank == 0) {
        int given = madvise(buffer_of(0), 2 * (size_t)BUFFER_BYTES, MADV_COLLAPSE) == 0;
        volley_fact("{\"fact\": \"huge_pages\", \"given\": %s, \"errno\": %d}", given ? "true" : "false",
                    given ? 0 : errno);
    }
    volley_synchronise();
}

static uint64_t check(const struct volley_point *point) {
    pass_function pass = function_of(point);
    size_t bytes = point->size;
    if (pass == pass_line || refused(point)) return 0;
    ask_for_huge_pages();
    unsigned char *there = pass == copy_own ? own_place(0, bytes) : buffer_of(0);
    unsigned char *back = pass == copy_own ? own_place(1, bytes) : buffer_of(1);
    uint64_t wrong = 0;
    if (volley.rank == 0) {
        volley_fill(there, bytes, 0, bytes);
        volley_poison(back, bytes, 0, bytes);
    }
    volley_synchronise();
    pass(0, bytes);
    if (volley.rank == 1 && pass != copy_own) { /* the receiver sees it; then the way back is checked likewise */
        wrong += volley_wrong(back, bytes, 0, bytes);
        volley_fill(back, bytes, 1, bytes);
        volley_poison(there, bytes, 1, bytes);
    } else if (volley.rank == 0 && pass == copy_own)
        wrong += volley_wrong(back, bytes, 0, bytes);
    volley_synchronise();
    pass(1, bytes);
    if (pass == copy_own) there = own_place(2, bytes);
    if (volley.rank == 0) wrong += volley_wrong(there, bytes, pass != copy_own, bytes);
    volley_synchronise();
    return wrong;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    pass_function pass = function_of(point);
    if ((pass == pass_line && point->size > sizeof(uint64_t)) || refused(point)) return;
    uint64_t start = volley_now();
    for (uint64_t i = 0; i < repetitions; i++) {
        pass(0, point->size);
        pass(1, point->size);
        uint64_t end = volley_now();
        volley_record(start, end);
        start = end;
    }
    volley_synchronise();
}

VOLLEY_TEST(check, measure)
