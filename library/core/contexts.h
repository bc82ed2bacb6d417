// SPDX-License-Identifier: BSD-3-Clause
/// Context numbers, which keep messages of different communicators apart, and how they are used again.
///
/// Every communicator has four, one per kind of traffic: a multiple of four, and the next three. One process draws the
/// first and tells the other members. A number consists of an index into a table, and of a generation, which counts how
/// often that index has been used before:
///
///     31         22 21          2 1       0
///     [generation ] [   index    ] [traffic]
///
/// When the last member's communicator is gone, the index joins the end of a queue. Indices are used again from the
/// front of the queue, once enough of them wait there (1024). So a message that was left behind would meet its number
/// again only after 2^10 times as many communicators, a million. Before that, the match queues of numbers that are no
/// longer used are emptied.
///
/// The ranks of a node share a table. Of n nodes each draws every n-th index, so that no two draw the same. The last
/// member on another node that leaves a communicator tells the node that has drawn its number how many have left.
///
/// Members of a communicator may belong to several jobs, which draw numbers of their own. Such a communicator's context
/// has a *name*, drawn at random and the same everywhere. The first process of a node that meets the name draws a
/// number for it, which all processes of the node use. Messages to other nodes and jobs carry the name
/// (transport/tcp/wire.h).
///
/// Drawing a number and giving it back hold a lock that the ranks of a node share for some 50 ns; leave_context() is
/// one atomic addition.
#pragma once

#include "boot/context_number.h"

#include <cstdint>

namespace volley {

class Group;

/// The communicators that every process has from the beginning; their numbers are not in the table. A message to
/// MPI_COMM_SELF never leaves its process, so all processes use the same number for it.
inline constexpr std::uint32_t bootstrap_context = 0;
inline constexpr std::uint32_t world_context = traffic_kinds;
inline constexpr std::uint32_t self_context = 2 * traffic_kinds;

/// Called in one process: draws a number for a communicator of `members` processes, those of both groups. 0 if all
/// numbers are in use.
std::uint32_t draw_context(int members);
/// Makes a number free that no process uses or will use.
void give_back_context(std::uint32_t context);
/// Called by each member once, when its communicator is gone. `members_here` is the number of members on this node.
void leave_context(std::uint32_t context, int members_here);

/// What members of a communicator tell each other of its context: its number or, if they are of several jobs, its name.
using SharedContext = std::uint64_t;

/// Called in one process: draws the context of a communicator of these groups; `remote` is nullptr in an
/// intracommunicator. 0 if all numbers are in use.
SharedContext draw_shared_context(const Group &local, const Group *remote = nullptr);
SharedContext draw_shared_context(int members, bool several_jobs);
/// Gives back what no process has asked the number of.
void give_back_shared_context(SharedContext context);
/// Called by each member once, when it makes its communicator: the number of the context on this node. 0 if all numbers
/// are in use.
std::uint32_t context_number(SharedContext context, int members_here);

/// The index of a context, below context_indices(), and its generation.
std::uint32_t context_index(std::uint32_t context);
std::uint32_t context_generation(std::uint32_t context);
std::uint32_t context_indices();

/// The error of a call for which no context was left.
[[gnu::cold, nodiscard]] int no_context();

/// Messages of the program that were never received, and whose communicator is now gone in all ranks.
struct LeftMessages {
    int count;
    int source; ///< of the first message: rank in the communicator; its tag and bytes follow
    int tag;
    long long bytes;
};
const LeftMessages &left_messages();

} // namespace volley
