// SPDX-License-Identifier: BSD-3-Clause
/// What happens in a rank's own process between clone and the first instruction of its program.
///
/// That code runs in memory it shares with its creator: it touches no thread-local storage, no heap and no
/// C library, only the RankStart it was given, which must lie where nobody else writes meanwhile.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "boot/job.h"

namespace volley::launch {

inline constexpr int name_bytes = 16; ///< of a process, as PR_SET_NAME takes it

/// The sockets where a rank takes connections, one for each address of its host.
struct Listeners {
    int numbers[most_addresses] = {};
    std::uint32_t count = 0;

    void add(int number) {
        numbers[count++] = number;
    }
};

/// Descriptors of the creator that become a rank's own.
struct RankStreams {
    int input = 0;
    int output = 1;
    int error = 2;
    Listeners listeners = {};
};

/// Descriptors first..last.
struct DescriptorRange {
    unsigned int first;
    unsigned int last;
};

struct RankStart {
    pid_t launcher; ///< mpiexec; the rank ends if that has gone
    pid_t group;    ///< process group to join
    RankStreams streams;
    Listeners listeners;             ///< what the descriptors of its own shall be
    const char *directory;           ///< nullptr: stay
    std::uint64_t signal_mask;       ///< the kernel's form
    const unsigned long *processors; ///< the kernel's mask; nullptr: where the creator may run
    std::size_t processor_bytes;
    rlimit open_files;
    char name[name_bytes];           ///< what `ps` shows
    const DescriptorRange *to_close; ///< shared: what an exec would close
    std::uint32_t to_close_count;

    /// shared: jumped to. process: nullptr-terminated, for execve.
    std::uintptr_t entry;
    std::uintptr_t stack_pointer;
    const char *path;
    char *const *arguments;
    char *const *environment;

    /// If the rank could not start: what was tried, and errno. Read by the creator once execve has failed.
    const char *volatile failed;
    volatile int failure;
};

/// Exit status of a rank that could not start.
inline constexpr int start_failed = 126;

/// For clone(): `start` is a RankStart*. Becomes the program, or ends with start_failed; never returns.
int start_rank(void *start);

} // namespace volley::launch
