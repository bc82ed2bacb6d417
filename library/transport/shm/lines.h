// SPDX-License-Identifier: BSD-3-Clause
/// Hints to the caches about lines that go back and forth between two cores. Data and order are the same without them.
#pragma once

#include "boot/cpus.h"
#include "boot/job.h"
#include "layout/memory_copy.h"

#include <cstddef>

namespace volley {

/// Where lines migrate (boot/cpus.h): writes into each line of memory that a peer has written, this rank has read, and
/// the peer is to write next. The caller does so before it gives the room back, while the room is still this rank's.
inline void reclaim(unsigned char *data, std::size_t size) {
    if (!lines_migrate) return;
    for (std::size_t at = 0; at < size; at += cache_line) *const_cast<volatile unsigned char *>(data + at) = 0;
}

void copy_and_reclaim_lines(void *to, unsigned char *from, std::size_t size);

/// Copies out of such memory, and reclaims its lines.
inline void copy_and_reclaim(void *to, unsigned char *from, std::size_t size) {
    if (lines_migrate)
        copy_and_reclaim_lines(to, from, size);
    else
        copy_memory(to, from, size);
}

/// glibc's memcpy copies 2,112 bytes and more (2.36) by `rep movsb`. What the processor does after that instruction
/// waits for all of its stores: the store that tells the peer does not ask for its line meanwhile, and a reader reads
/// nothing ahead. Between these sizes loops of long words are quicker (Zen 5, bytes and us, memcpy and loop; ping-pong
/// of processes: 1,536 0.17 and 0.15, 2,176 0.82 and 0.61, 4,096 0.94 and 0.83; bcast in rooms: 2,176 0.31 and 0.16,
/// 4,096 0.36 and 0.23, 8,192 0.42 and 0.38). A receiver that hands memory back to its sender copies otherwise
/// (copy_and_reclaim), or does not gain.
inline constexpr std::size_t least_in_loops = 1024, most_in_loops = 4096;

/// Copies into memory that another core is to read next, or out of memory that one has just written.
inline void copy_for_peer(void *to, const void *from, std::size_t size) {
    if (size >= least_in_loops && size <= most_in_loops)
        copy_in_loops(to, from, size);
    else
        copy_memory(to, from, size);
}

/// Data up to this size gain from demote() (bench/messages.cpp: messages of 64 B to 512 B take 0.75 of the time, 1 KiB
/// 0.9).
inline constexpr std::size_t most_demoted = 1024;

/// Pushes written lines down into the cache the cores share (CLDEMOTE; processors without it do nothing). Another core
/// finds them there sooner than in this core's own cache. This pays only for a few lines: each costs this core as much
/// as it saves the other. If both ranks run on one core, the lines are then farther away for both.
inline void demote(const void *data, std::size_t size) {
#if defined(__x86_64__)
    const auto *bytes = static_cast<const char *>(data);
    for (std::size_t at = 0; at < size; at += cache_line) asm volatile("cldemote %0" : : "m"(bytes[at]));
#endif
}

/// Asks for lines as their only owner, so that writing them later need not wait for other cores' copies to go.
inline void prefetch_for_writing(const void *data, std::size_t size) {
    const auto *bytes = static_cast<const char *>(data);
    for (std::size_t at = 0; at < size; at += cache_line) {
#if defined(__x86_64__)
        // Without -mprfchw __builtin_prefetch(p, 1) asks for a line to read.
        asm volatile("prefetchw %0" : : "m"(bytes[at]));
#else
        __builtin_prefetch(bytes + at, 1);
#endif
    }
}

} // namespace volley
