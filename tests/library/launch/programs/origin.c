// SPDX-License-Identifier: BSD-3-Clause
// Linked with a library that is found through the run path $ORIGIN/beside only.
#include <stdio.h>

int answer(void);

int main(void) {
    printf("answer %d\n", answer());
    return 0;
}
