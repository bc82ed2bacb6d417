// SPDX-License-Identifier: BSD-3-Clause
/// Memory in which the ranks of a communicator on one host meet for collective operations.
#pragma once

namespace volley {

struct CollectiveArea;

/// An area for that many ranks, all of which may dereference each other's pointers: zeroed memory of the arena.
/// One of them makes it when the communicator is made and tells the others (arena_offset); each stores it in
/// communicator.area. nullptr, which is fine there, if the arena is used up.
CollectiveArea *make_area(int ranks);

} // namespace volley
