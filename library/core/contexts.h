// SPDX-License-Identifier: BSD-3-Clause
/// Context numbers, which keep messages of different communicators apart, and what becomes of them.
///
/// Every communicator has two, one per kind of traffic: an even number and the next. One process draws it and tells the
/// others. It consists of an index into a table that all ranks share, and of a generation, how often that index has
/// been used before:
///
///     31         21 20          1       0
///     [generation ] [   index    ] [traffic]
///
/// When the last member's communicator is gone, the index joins a queue, from whose other end indices are used again
/// once some wait there. A message that was left behind thus meets its number again only after 2^11 times as many
/// communicators as wait at least, two million; before, the queues of numbers that are no longer used are emptied.
///
/// Drawing and giving back take a lock that all ranks share for some 50 ns, leaving one atomic addition.
#pragma once

#include <cstdint>

namespace volley {

/// For communicators that every process has from the beginning; these numbers are not in the table. A message to
/// MPI_COMM_SELF never leaves its process, so all processes use the same one for it.
inline constexpr std::uint32_t bootstrap_context = 0;
inline constexpr std::uint32_t world_context = 2;
inline constexpr std::uint32_t self_context = 4;

/// In one process: a number for a communicator of so many processes, of both groups. 0: all are in use.
std::uint32_t draw_context(int members);
/// Where that was not known when it was drawn (0 members): by one of the members, before it leaves.
void set_context_members(std::uint32_t context, int members);
/// Nobody has been told of it, and nobody will be.
void give_back_context(std::uint32_t context);
/// Called by each of its members once, when its communicator is gone.
void leave_context(std::uint32_t context);
/// The error of a call for which there was none.
[[gnu::cold, nodiscard]] int no_context();

/// Messages of the program that came to communicators of which all ranks' are gone now.
struct LeftMessages {
    int count;
    int source; ///< of the first: rank in the communicator
    int tag;
    long long bytes;
};
const LeftMessages &left_messages();

} // namespace volley
