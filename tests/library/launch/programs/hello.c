// SPDX-License-Identifier: BSD-3-Clause
// hello [STATUS [TEXT...]]: who am I, where, with which environment.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
    char directory[4096];
    const char *set = getenv("SET");
    const char *common = getenv("COMMON");
    printf("rank %s of %s application %s arguments %d last %s in %s SET=%s COMMON=%s\n", getenv("VOLLEY_RANK"),
           getenv("VOLLEY_RANKS"), getenv("VOLLEY_APPLICATION"), count - 1, arguments[count - 1],
           getcwd(directory, sizeof(directory)), set ? set : "", common ? common : "");
    return count > 1 ? atoi(arguments[1]) : 0;
}
