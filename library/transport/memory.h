// SPDX-License-Identifier: BSD-3-Clause
/// This rank's access to the arena's allocator, for memory that all ranks of the job see.
#pragma once

#include "arena/allocator.h"

#include <cstddef>

namespace volley {

/// Before anything else is called here: finds the allocator of node.arena, or makes it.
void open_memory();

/// `bytes` of zeroed arena memory that is visible to all ranks, aligned to cache lines, and from a page on to pages.
/// nullptr if the arena is used up; no error is reported.
void *arena_allocate(std::size_t bytes);
/// The same without zeroing.
void *arena_allocate_undefined(std::size_t bytes);
/// Takes back what an allocation of so many bytes returned, in this rank or another.
void arena_release(void *block, std::size_t bytes);
/// The same for a block that nobody has written beyond its first `touched` bytes.
void arena_release(void *block, std::size_t bytes, std::size_t touched);

Allocator::Statistics arena_statistics();

} // namespace volley
