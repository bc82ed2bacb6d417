// SPDX-License-Identifier: BSD-3-Clause
/// Which processors this process may use, and how many of them at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace volley {

struct Processor {
    int number; ///< as the system counts
    int package;
    int core; ///< within the package; hardware threads of one core share it
};

/// The processors that the affinity mask allows.
std::vector<Processor> allowed_processors();

/// The smaller of what the affinity mask and the control group's quota (v1 or v2, this group and those
/// above) allow, rounded up; at least 1.
std::uint32_t usable_cpus();

/// How many cores the affinity mask allows, hardware threads of one counted once; at least 1.
std::uint32_t allowed_cores();

/// The affinity mask as the kernel writes it: "0-3,8".
std::string allowed_list();

/// The processors and cores of several ranks, each bound to some of them.
struct UsableTogether {
    std::uint32_t cpus;  ///< no more than the quota
    std::uint32_t cores; ///< hardware threads of one counted once
};

/// What the processors in `lists`, each as allowed_list() returns it, add up to; at least 1. Texts that are no such
/// list are ignored.
UsableTogether usable_together(const std::vector<std::string> &lists);

/// Whether lines migrate, as on AMD's processors. When one core writes a line that another has read, again and again,
/// the writer pays each time for the removal of the reader's copy (bench/lines.cpp, Zen 4: 7 ns a line where reading
/// takes 2, 28 where it takes 4). A line that the reader writes, too, goes back and forth as a whole, at the reader's
/// price each way.
extern const bool lines_migrate;

/// Whether the same holds for blocks of many lines, written in a row: up to Zen 4. Zen 5's writers wait for the removal
/// of many readers' copies at a time (bench/lines.cpp, 64 KiB: 0.8 ns a line either way, and reading costs 1.05 instead
/// of 0.82 if the reader writes).
extern const bool blocks_migrate;

} // namespace volley
