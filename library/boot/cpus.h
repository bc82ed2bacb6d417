// SPDX-License-Identifier: BSD-3-Clause
/// Which processors this process may use, and how many of them at a time.
#pragma once

#include <cstdint>
#include <vector>

namespace volley {

struct Processor {
    int number; ///< as the system counts
    int package;
    int core; ///< within the package; hardware threads of one core share it
};

/// Those the affinity mask allows.
std::vector<Processor> allowed_processors();

/// The smaller of what the affinity mask and the control group's quota (v1 or v2, this group and those
/// above) allow, rounded up; at least 1.
std::uint32_t usable_cpus();

/// How many cores the affinity mask allows, hardware threads of one counted once; at least 1.
std::uint32_t allowed_cores();

/// Of AMD's processors: a line that one core writes and another reads, again and again, costs the writer each time that
/// the reader's copy has to go (bench/lines.cpp, Zen 4: 7 ns a line where reading takes 2, 28 where it takes 4). A line
/// that the reader writes, too, goes back and forth as a whole, at the reader's price each way.
extern const bool lines_migrate;

} // namespace volley
