// SPDX-License-Identifier: BSD-3-Clause
// fork HOW: ranks that start other processes, and exchange messages of all sizes.
//   child      MPI in a child, for which the rank's own process waits
//   some       the same, of every second rank
//   execute    MPI in a program that a child becomes
//   become     MPI in a program that the rank itself becomes
//   after      a child and a program, both without MPI, started between MPI_Init and MPI_Finalize
//   plain      MPI without any of it
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { largest = 1 << 20, places = 1000 };

static int failed(const char *what) {
    fprintf(stderr, "fork: %s\n", what);
    return 1;
}

static int exchange(int rank, int ranks) {
    static int out[largest], in[largest], sum[places];
    for (int count = 1; count <= largest; count *= 32) {
        int left = (rank + ranks - 1) % ranks;
        for (int i = 0; i < count; i++) out[i] = rank + i;
        MPI_Sendrecv(out, count, MPI_INT, (rank + 1) % ranks, 1, in, count, MPI_INT, left, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int i = 0; i < count; i++)
            if (in[i] != left + i) return failed("a message arrived changed");
    }
    for (int i = 0; i < places; i++) out[i] = rank;
    MPI_Allreduce(out, sum, places, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < places; i++)
        if (sum[i] != ranks * (ranks - 1) / 2) return failed("the sum is wrong");
    return 0;
}

static int wait_for(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return failed("the child did not end well");
    return WEXITSTATUS(status);
}

static int start_others(char *self) {
    pid_t child = fork();
    if (child == 0) exit(0); // with all that the library does at a process's end
    if (wait_for(child) != 0) return 1;
    child = fork();
    if (child == 0) {
        execl(self, self, "alone", (char *)NULL);
        _exit(1);
    }
    return wait_for(child);
}

/// `expected` ranks, or any number for 0.
static int run(int argc, char **argv, int expected) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (expected != 0 && ranks != expected) return failed("the world has another size");
    int code = exchange(rank, ranks);
    if (code == 0 && strcmp(argv[1], "after") == 0) code = start_others(argv[0]);
    if (code == 0) code = exchange(rank, ranks);
    MPI_Finalize();
    return code;
}

int main(int argc, char **argv) {
    const char *rank = getenv("VOLLEY_RANK");
    int odd = rank != NULL && atoi(rank) % 2 == 1;
    if (strcmp(argv[1], "alone") == 0) return run(argc, argv, 1);
    if (strcmp(argv[1], "child") == 0 || (strcmp(argv[1], "some") == 0 && odd)) {
        pid_t child = fork();
        if (child == 0) return run(argc, argv, 3);
        return wait_for(child);
    }
    if (strcmp(argv[1], "execute") == 0) {
        pid_t child = fork();
        if (child != 0) return wait_for(child);
    }
    if (strcmp(argv[1], "execute") == 0 || strcmp(argv[1], "become") == 0) {
        execl(argv[0], argv[0], "plain", (char *)NULL);
        return failed("cannot execute itself");
    }
    return run(argc, argv, 3);
}
