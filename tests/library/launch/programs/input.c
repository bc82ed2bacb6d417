// SPDX-License-Identifier: BSD-3-Clause
// Counts what it can read.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    char chunk[4096];
    long bytes = 0;
    for (ssize_t got; (got = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0;) bytes += got;
    printf("rank %s read %ld\n", getenv("VOLLEY_RANK"), bytes);
    return 0;
}
