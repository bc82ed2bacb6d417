// SPDX-License-Identifier: BSD-3-Clause
int answer(void);

int answer(void) {
    return 42;
}
