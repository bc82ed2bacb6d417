// SPDX-License-Identifier: BSD-3-Clause
/// A hash table whose slots lie in the windows of all ranks, as codes of graphs and genomes have them, under any MPI:
/// each rank inserts keys that nobody else has, all ranks at once, and then looks keys of others up.
///
///     mpicc -O2 hash_table.c -o hash_table && mpiexec -n 4 ./hash_table [keys per rank]
///
/// An insertion takes a slot by MPI_Compare_and_swap (linear probing within the owner's slots) and puts the value by
/// MPI_Put; a lookup gets key and value by one MPI_Get. No rank takes part in the accesses to its memory. Everything is
/// checked: each key is found with its value, keys that were not inserted are not found, and the slots that are in use
/// are as many as the keys. The two lines are millions of operations per second of all ranks together, the fastest of
/// some attempts and the middle one.
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { attempts = 7 };
typedef struct {
    uint64_t key, value; /* key 0: free */
} Slot;

static int rank, size;
static MPI_Win window;
static Slot *slots;
static uint64_t slots_per_rank;

static void fail(const char *what, uint64_t key) {
    fprintf(stderr, "hash_table: rank %d: %s, key %llu\n", rank, what, (unsigned long long)key);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/// The finaliser of MurmurHash3: each bit of the key changes half of the bits.
static uint64_t mix(uint64_t key) {
    key = (key ^ key >> 33) * 0xff51afd7ed558ccdu;
    key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53u;
    return key ^ key >> 33;
}

static uint64_t value_of(uint64_t key) {
    return mix(key + 1);
}

/// Keys from 1: number i of a rank.
static uint64_t key_of(int owner, uint64_t i) {
    return 1 + i * (uint64_t)size + (uint64_t)owner;
}

static int owner_of(uint64_t hash) {
    return (int)((hash >> 32) % (uint64_t)size);
}

static void insert(uint64_t key) {
    const uint64_t hash = mix(key), nothing = 0;
    const int owner = owner_of(hash);
    uint64_t at = hash % slots_per_rank;
    for (uint64_t probes = 0; probes < slots_per_rank; probes++) {
        const MPI_Aint place = (MPI_Aint)(at * sizeof(Slot));
        uint64_t found = 0;
        MPI_Compare_and_swap(&key, &nothing, &found, MPI_UINT64_T, owner, place, window);
        MPI_Win_flush(owner, window);
        if (found == 0) {
            const uint64_t value = value_of(key);
            MPI_Put(&value, 1, MPI_UINT64_T, owner, place + 8, 1, MPI_UINT64_T, window);
            MPI_Win_flush(owner, window);
            return;
        }
        if (found == key) fail("was there already", key);
        at = (at + 1) % slots_per_rank;
    }
    fail("found no free slot", key);
}

static int look_up(uint64_t key, uint64_t *value) {
    const uint64_t hash = mix(key);
    const int owner = owner_of(hash);
    uint64_t at = hash % slots_per_rank;
    for (uint64_t probes = 0; probes < slots_per_rank; probes++) {
        Slot found;
        MPI_Get(&found, sizeof found, MPI_BYTE, owner, (MPI_Aint)(at * sizeof(Slot)), sizeof found, MPI_BYTE, window);
        MPI_Win_flush(owner, window);
        if (found.key == 0) return 0;
        if (found.key == key) {
            *value = found.value;
            return 1;
        }
        at = (at + 1) % slots_per_rank;
    }
    return 0;
}

static void clear(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    memset(slots, 0, slots_per_rank * sizeof(Slot));
    MPI_Win_unlock(rank, window);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_used(uint64_t keys) {
    unsigned long long used = 0, all = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    for (uint64_t i = 0; i < slots_per_rank; i++) used += slots[i].key != 0;
    MPI_Win_unlock(rank, window);
    MPI_Allreduce(&used, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (all != keys * (uint64_t)size) fail("slots in use are not as many as keys", all);
}

/// Seconds of all ranks' insertions.
static double insert_all(uint64_t keys) {
    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (uint64_t i = 0; i < keys; i++) insert(key_of(rank, i));
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - begun;
    MPI_Win_unlock_all(window);
    return seconds;
}

/// Seconds of all ranks' lookups of keys that the next rank has inserted.
static double look_all_up(uint64_t keys) {
    uint64_t value = 0;
    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (uint64_t i = 0; i < keys; i++) {
        const uint64_t key = key_of((rank + 1) % size, i);
        if (!look_up(key, &value) || value != value_of(key)) fail("is not found with its value", key);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - begun;
    if (look_up(key_of(rank, keys), &value)) fail("is found, but was not inserted", key_of(rank, keys));
    MPI_Win_unlock_all(window);
    return seconds;
}

static int by_number(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void say(const char *what, double *seconds, uint64_t keys) {
    qsort(seconds, attempts, sizeof *seconds, by_number);
    const double millions = 1e-6 * (double)keys * size;
    if (rank == 0) printf("%-8s %8.3f %8.3f M/s\n", what, millions / seconds[0], millions / seconds[attempts / 2]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const uint64_t keys = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
    slots_per_rank = 2 * keys + 64; /* half full */
    MPI_Win_allocate((MPI_Aint)(slots_per_rank * sizeof(Slot)), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &slots, &window);
    double inserting[attempts], looking_up[attempts];
    for (int i = 0; i < attempts; i++) {
        clear();
        inserting[i] = insert_all(keys);
        check_used(keys);
        looking_up[i] = look_all_up(keys);
    }
    say("insert", inserting, keys);
    say("look up", looking_up, keys);
    MPI_Win_free(&window);
    if (rank == 0) puts("good");
    MPI_Finalize();
    return 0;
}
