// SPDX-License-Identifier: BSD-3-Clause
// Says "ready", then the signals that come; SIGTERM ends it. "ignore": dies of SIGKILL only.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments) {
    sigset_t set;
    const int ignore = count > 1 && strcmp(arguments[1], "ignore") == 0;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCONT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    printf("ready %d\n", getpid());
    fflush(stdout);
    for (int number = 0; number != SIGTERM || ignore;) {
        sigwait(&set, &number);
        printf("signal %d\n", number);
        fflush(stdout);
    }
    return 0;
}
