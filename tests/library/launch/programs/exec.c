// SPDX-License-Identifier: BSD-3-Clause
// Becomes another program.
#include <unistd.h>

int main(int count, char **arguments) {
    if (count > 1) execv(arguments[1], arguments + 1);
    return 1;
}
