// SPDX-License-Identifier: BSD-3-Clause
/// Memory that all ranks of the job see: this rank's way to the arena's allocator.
#pragma once

#include "arena/allocator.h"

#include <cstddef>

namespace volley {

/// Before anything else is called here: finds the allocator of node.arena, or makes it.
void open_memory();

/// `bytes` of zeroed arena memory, cache-line aligned, from a page on page aligned, visible to all ranks. nullptr, with
/// nothing said, if the arena is used up.
void *arena_allocate(std::size_t bytes);
/// The same without zeroing.
void *arena_allocate_undefined(std::size_t bytes);
/// Takes back what an allocation of so many bytes gave, in this rank or another.
void arena_release(void *block, std::size_t bytes);
/// The same of one that nobody has written beyond the first `touched` bytes.
void arena_release(void *block, std::size_t bytes, std::size_t touched);

Allocator::Statistics arena_statistics();

} // namespace volley
