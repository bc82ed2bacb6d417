/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Known bytes: what is sent in the checking pass, and how many of them arrived wrong.
 * Part of the frame; tests include volley_test.h.
 */
#ifndef VOLLEY_PAYLOAD_H
#define VOLLEY_PAYLOAD_H

#include "volley_state.h"

/** Eight bytes of the known content of message (sender, salt): a hash of their position, so that a shifted,
 *  swapped, stale or lost part shows in all but one of 256 of its bytes, and no period fits a cache line or page.
 *  Two multiplications for eight bytes: several GB/s, since a check fills and compares up to gigabytes. */
static inline uint64_t volley_word(uint64_t index, uint64_t key) {
    uint64_t x = (index + key) * 0x9E3779B97F4A7C15u;
    x ^= x >> 32;
    return x * 0xD6E8FEB86659FD93u;
}

static inline uint64_t volley_key(int sender, uint64_t salt) {
    uint64_t x = ((uint64_t)sender + 1) * 0xC2B2AE3D27D4EB4Fu + salt * 0x165667B19E3779F9u;
    return x ^ x >> 29;
}

static inline void volley_fill_masked(void *buffer, size_t bytes, int sender, uint64_t salt, uint64_t mask) {
    unsigned char *byte = buffer;
    uint64_t key = volley_key(sender, salt), index = 0;
    for (; bytes >= 8; bytes -= 8, byte += 8) {
        uint64_t word = volley_word(index++, key) ^ mask;
        memcpy(byte, &word, 8);
    }
    uint64_t word = volley_word(index, key) ^ mask;
    memcpy(byte, &word, bytes);
}

/** Fills a buffer to be sent with the known content of message (sender, salt). */
static inline void volley_fill(void *buffer, size_t bytes, int sender, uint64_t salt) {
    volley_fill_masked(buffer, bytes, sender, salt, 0);
}

/** Fills a buffer to be received into so that every byte that does not arrive is wrong. */
static inline void volley_poison(void *buffer, size_t bytes, int sender, uint64_t salt) {
    volley_fill_masked(buffer, bytes, sender, salt, UINT64_MAX);
}

/** Number of bytes that differ from what volley_fill() wrote with the same arguments. */
static inline uint64_t volley_wrong(const void *buffer, size_t bytes, int sender, uint64_t salt) {
    const unsigned char *byte = buffer;
    uint64_t key = volley_key(sender, salt), index = 0, wrong = 0;
    for (; bytes >= 8; bytes -= 8, byte += 8) {
        uint64_t seen, difference;
        memcpy(&seen, byte, 8);
        difference = seen ^ volley_word(index++, key);
        for (; __builtin_expect(difference != 0, 0); difference >>= 8) wrong += (difference & 255) != 0;
    }
    uint64_t word = volley_word(index, key);
    for (size_t i = 0; i < bytes; i++) wrong += byte[i] != ((const unsigned char *)&word)[i];
    return wrong;
}

#endif
