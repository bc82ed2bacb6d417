// SPDX-License-Identifier: BSD-3-Clause
// children [stay]: starts a child and one in a session of its own, which start another each; prints their ids.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void start(int session, int depth, int out) {
    const pid_t child = fork();
    if (child != 0) return;
    if (session) setsid();
    if (depth > 0) start(session, depth - 1, out);
    dprintf(out, "%d\n", getpid());
    while (1) pause();
}

int main(int count, char **arguments) {
    int ends[2];
    char text[200] = "";
    size_t got = 0;
    int lines = 0;
    if (pipe(ends) != 0) return 1;
    start(0, 1, ends[1]);
    start(1, 1, ends[1]);
    while (lines < 4) { // all four have written
        got += (size_t)read(ends[0], text + got, sizeof(text) - got - 1);
        lines = 0;
        for (size_t i = 0; i < got; ++i) lines += text[i] == '\n';
    }
    printf("%s%d\n", text, getpid());
    fflush(stdout);
    if (count > 1 && strcmp(arguments[1], "stay") == 0)
        while (1) pause();
    return 0;
}
