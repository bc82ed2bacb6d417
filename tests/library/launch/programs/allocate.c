// SPDX-License-Identifier: BSD-3-Clause
// Allocates, fills, checks and frees at random, so that one rank's heap would show another's writes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 200, ROUNDS = 4000 };

int main(void) {
    unsigned int seed = (unsigned int)atoi(getenv("VOLLEY_RANK")) + 1;
    const unsigned char mark = (unsigned char)seed;
    unsigned char *blocks[BLOCKS] = {NULL};
    size_t bytes[BLOCKS] = {0};
    void *brk_before = sbrk(0);
    for (int round = 0; round < ROUNDS; ++round) {
        const int i = rand_r(&seed) % BLOCKS;
        for (size_t at = 0; at < bytes[i]; at += 97)
            if (blocks[i][at] != mark) {
                printf("rank %s: another wrote into its heap\n", getenv("VOLLEY_RANK"));
                return 1;
            }
        free(blocks[i]);
        bytes[i] = (size_t)(rand_r(&seed) % (round % 50 == 0 ? 300000 : 3000) + 1);
        blocks[i] = malloc(bytes[i]);
        memset(blocks[i], mark, bytes[i]);
    }
    return sbrk(0) == brk_before ? 0 : 2;
}
