// SPDX-License-Identifier: BSD-3-Clause
// What a process may rely on to be its own: globals, thread-local storage, threads, directory, children, heap.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 1000 };
static int global = 7;
static int zeroed[100000];
static __thread int local = 3;
static volatile sig_atomic_t caught;

static void check(int holds, const char *what) {
    if (holds) return;
    printf("rank %s: not private: %s (errno %d)\n", getenv("VOLLEY_RANK"), what, errno);
    exit(1);
}

static void on_signal(int number) {
    caught = number;
}

static void *work(void *argument) {
    check(local == 3, "a thread's __thread variable");
    local = *(int *)argument;
    for (int round = 0; round < ROUNDS; ++round) {
        char *block = malloc((size_t)(1 + round * 37 % 5000));
        block[0] = (char)local;
        check(block[0] == (char)local, "the heap");
        free(block);
        __atomic_fetch_add(&global, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

int main(void) {
    const int rank = atoi(getenv("VOLLEY_RANK"));
    for (int i = 0; i < 100000; ++i) check(zeroed[i] == 0, "zeroed memory");
    memset(zeroed, rank + 1, sizeof(zeroed));

    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        numbers[i] = i + 100 * rank;
        check(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0, "pthread_create");
    }
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    check(global == 7 + THREADS * ROUNDS, "a global");
    check(local == 3, "the main thread's __thread variable");

    char folder[64];
    char name[16];
    snprintf(folder, sizeof(folder), "rank%d", rank);
    check(chdir(folder) == 0, "the directory");
    FILE *file = fopen("file", "w");
    fprintf(file, "%d\n", rank);
    fclose(file);
    int read_back = -1;
    FILE *pipe = popen("cat file", "r");
    check(pipe != NULL && fscanf(pipe, "%d", &read_back) == 1 && pclose(pipe) == 0 && read_back == rank, "popen");
    check(system("exit 5") == 5 << 8, "system");
    const pid_t child = fork();
    if (child == 0) {
        free(malloc(100000));
        _exit(global == 7 + THREADS * ROUNDS ? rank % 100 : 255);
    }
    int status = 0;
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == rank % 100, "fork");

    signal(SIGUSR1, rank % 2 ? on_signal : SIG_IGN);
    raise(SIGUSR1);
    check(caught == (rank % 2 ? SIGUSR1 : 0), "a signal handler");
    prctl(PR_GET_NAME, name);
    check(strcmp(name, "private") == 0, "its name");
    for (int i = 3; i < 64; ++i) // nothing of mpiexec's is open but the arena
        check(fcntl(i, F_GETFD) < 0 || i == atoi(getenv("VOLLEY_ARENA_FD")), "descriptors");
    printf("rank %d is private\n", rank);
    return 0;
}
