// SPDX-License-Identifier: BSD-3-Clause
/// What access to another rank's window costs, under any MPI: rank 0 accesses rank 1's memory, while rank 1 waits in
/// MPI_Barrier (some MPIs need their target to be there); fences are of all ranks.
///
///     mpicc -O2 windows.c -o windows && mpiexec -n 2 ./windows [create]
///
/// The window is of MPI_Win_allocate, or with "create" of MPI_Win_create. Each line is the fastest of some attempts and
/// the middle one, in us per call, or GB/s. The last line is memcpy in the same process, which is a limit.
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { attempts = 15, large = 1 << 20 };
static int rank, size;
static MPI_Win window;
static char *memory, *buffer;

static void put_flush(void) {
    MPI_Put(buffer, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, window);
    MPI_Win_flush(1, window);
}

static void get_flush(void) {
    MPI_Get(buffer, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, window);
    MPI_Win_flush(1, window);
}

static void fetch_and_op(void) {
    static long long one = 1, found;
    MPI_Fetch_and_op(&one, &found, MPI_LONG_LONG, 1, 0, MPI_SUM, window);
    MPI_Win_flush(1, window);
}

static void compare_and_swap(void) {
    static long long value = 1, compare = 2, found;
    MPI_Compare_and_swap(&value, &compare, &found, MPI_LONG_LONG, 1, 0, window);
    MPI_Win_flush(1, window);
}

static void accumulate_doubles(void) {
    MPI_Accumulate(buffer, 1024, MPI_DOUBLE, 1, 0, 1024, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_flush(1, window);
}

static void put_large(void) {
    MPI_Put(buffer, large, MPI_BYTE, 1, 0, large, MPI_BYTE, window);
    MPI_Win_flush(1, window);
}

static void get_large(void) {
    MPI_Get(buffer, large, MPI_BYTE, 1, 0, large, MPI_BYTE, window);
    MPI_Win_flush(1, window);
}

static void lock_put_unlock(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    MPI_Put(buffer, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, window);
    MPI_Win_unlock(1, window);
}

static void fence(void) {
    MPI_Win_fence(0, window);
}

static void copy(void) {
    memcpy(memory, buffer, large);
    __asm__ volatile("" ::: "memory");
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// `all` ranks call it, or rank 0 alone. `bytes` is 0 for a latency.
static void measure(const char *name, void (*call)(void), int repetitions, int all, int bytes) {
    double times[attempts];
    for (int attempt = 0; attempt < attempts; ++attempt) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        for (int i = 0; i < repetitions && (all || rank == 0); ++i) call();
        times[attempt] = (MPI_Wtime() - begin) / repetitions;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank != 0) return;
    qsort(times, attempts, sizeof times[0], ascending);
    if (bytes > 0)
        printf("%-28s %10.2f %10.2f GB/s\n", name, bytes / times[0] * 1e-9, bytes / times[attempts / 2] * 1e-9);
    else
        printf("%-28s %10.3f %10.3f us\n", name, times[0] * 1e6, times[attempts / 2] * 1e6);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) {
        fprintf(stderr, "windows: wants at least 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    buffer = calloc(1, large);
    const int create = argc > 1 && strcmp(argv[1], "create") == 0;
    if (create) {
        memory = malloc(large);
        MPI_Win_create(memory, large, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    } else {
        MPI_Win_allocate(large, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    }
    memset(memory, 0, large);
    MPI_Barrier(MPI_COMM_WORLD);
    measure("lock, put 8 B, unlock", lock_put_unlock, 2000, 0, 0);
    MPI_Win_lock_all(0, window);
    measure("put 8 B, flush", put_flush, 2000, 0, 0);
    measure("get 8 B, flush", get_flush, 2000, 0, 0);
    measure("fetch_and_op, flush", fetch_and_op, 2000, 0, 0);
    measure("compare_and_swap, flush", compare_and_swap, 2000, 0, 0);
    measure("accumulate 1024 doubles", accumulate_doubles, 200, 0, 0);
    measure("put 1 MiB", put_large, 50, 0, large);
    measure("get 1 MiB", get_large, 50, 0, large);
    MPI_Win_unlock_all(window);
    measure("fence", fence, 2000, 1, 0);
    measure("memcpy 1 MiB", copy, 50, 0, large);
    MPI_Win_free(&window);
    if (create) free(memory);
    free(buffer);
    MPI_Finalize();
    return 0;
}
