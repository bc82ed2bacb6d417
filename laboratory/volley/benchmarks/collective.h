/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common shape of the collectives' tests. A test defines
 *
 *     static void perform(const struct volley_point *point);      the one call to be timed
 *     static uint64_t check(const struct volley_point *point);    the same on known bytes
 *
 * and ends with VOLLEY_COLLECTIVE. Ranks start every operation together (volley_align), so that one that
 * arrives late, or an operation that lets some ranks leave early, does not shift the next one; an operation lasts
 * from the first rank's start to the last rank's end ("span").
 *
 * Reductions are MPI_BXOR on MPI_BYTE at every size. The type must not change along a curve, or the change would
 * look like a step of the MPI's; with wider elements sizes such as 30 bytes, or one byte beside a limit, could not
 * be measured. Exclusive or is exact, defined for MPI_BYTE since MPI-1, and a contribution that is lost shows as
 * surely as one that counts twice. (ReproMPI reduces MPI_BYTE by default, too.)
 */
#ifndef VOLLEY_COLLECTIVE_H
#define VOLLEY_COLLECTIVE_H

#include "volley_test.h"

enum { SEND, RECEIVE, EXPECTED, SCRATCH }; /* volley_buffer() numbers */

/** Sets EXPECTED to the reduction of `bytes` bytes from ranks 0 to last, whose salt is the same. */
static inline unsigned char *expect_reduction(size_t bytes, int last, uint64_t salt) {
    unsigned char *expected = volley_buffer(EXPECTED, bytes), *scratch = volley_buffer(SCRATCH, bytes);
    memset(expected, 0, bytes);
    for (int rank = 0; rank <= last; rank++) {
        volley_fill(scratch, bytes, rank, salt);
        for (size_t i = 0; i < bytes; i++) expected[i] ^= scratch[i];
    }
    return expected;
}

/** Makes every byte of `received` wrong until the operation writes it. */
static inline void poison_against(unsigned char *received, const unsigned char *expected, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) received[i] = (unsigned char)~expected[i];
}

static inline uint64_t count_differences(const unsigned char *received, const unsigned char *expected, size_t bytes) {
    uint64_t wrong = 0;
    for (size_t i = 0; i < bytes; i++) wrong += received[i] != expected[i];
    return wrong;
}

#define VOLLEY_COLLECTIVE                                                                                              \
    static void measure(const struct volley_point *point, uint64_t repetitions) {                                      \
        for (uint64_t i = 0; i < repetitions; i++) {                                                                   \
            volley_renew(SEND);                                                                                        \
            volley_align();                                                                                            \
            uint64_t start = volley_now();                                                                             \
            perform(point);                                                                                            \
            volley_record(start, volley_now());                                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    VOLLEY_TEST(check, measure)

#endif
