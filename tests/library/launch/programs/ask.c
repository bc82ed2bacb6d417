// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 asks without a newline and reads the answer.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    char name[100] = "";
    if (atoi(getenv("VOLLEY_RANK")) != 0) return 0;
    fprintf(stderr, "name? ");
    if (scanf("%99s", name) != 1) return 1;
    // Whoever sees the greeting may press Ctrl-C before this rank has ended.
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    printf("hello %s\n", name);
    return 0;
}
