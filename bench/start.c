// SPDX-License-Identifier: BSD-3-Clause
/// What it takes for many ranks to start, meet and end, under any MPI: the time of the first barrier, in which
/// connections are made, of a later one, and the memory and sockets of a rank.
///
///     mpicc -O2 start.c -o start && time mpiexec -n 1000 ./start
///
/// RSS counts pages that several processes map for each of them, PSS divides them by their number. A rank of a shared
/// address space has the pages of all of its ranks in both.
#include <mpi.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/// A number of KiB from a file of /proc; 0 if it is not there.
static long kibibytes(const char *path, const char *name) {
    char line[256];
    long value = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name))) sscanf(line + strlen(name), " %ld", &value);
    if (file) fclose(file);
    return value;
}

static long sockets(void) {
    long found = 0;
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char path[300], target[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        found += readlink(path, target, sizeof target - 1) > 0 && !strncmp(target, "socket:", 7);
    }
    if (folder) closedir(folder);
    return found;
}

int main(int argc, char **argv) {
    enum { rss, pss, open_sockets, facts };
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double begin = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    const double met = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    const double again = MPI_Wtime();
    long long own = rank, sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    const long mine[facts] = {[rss] = kibibytes("/proc/self/status", "VmRSS:"),
                              [pss] = kibibytes("/proc/self/smaps_rollup", "Pss:"),
                              [open_sockets] = sockets()};
    long sums[facts], most[facts];
    MPI_Reduce(mine, sums, facts, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(mine, most, facts, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: first barrier %.3f s, second %.4f s; a rank has %ld KiB (PSS; RSS %ld), and %.1f sockets, at "
               "most %ld; the sum of all ranks' numbers is %s\n",
               size, met - begin, again - met, sums[pss] / size, sums[rss] / size, (double)sums[open_sockets] / size,
               most[open_sockets], sum == (long long)size * (size - 1) / 2 ? "right" : "WRONG");
    MPI_Finalize();
    return sum != (long long)size * (size - 1) / 2;
}
