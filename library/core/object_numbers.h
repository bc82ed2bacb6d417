// SPDX-License-Identifier: BSD-3-Clause
/// A number for each place where an opaque object lies, for languages and binary interfaces whose handles are integers.
///
/// A place gets its number when memory for objects is made, and keeps it: where an object was there will only be
/// objects of its kind again. From handle to number and back it is one load each. Numbers start with 1.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace volley {

/// Of an object's number from its address. Every object behind a handle has it there.
inline constexpr std::size_t object_number_offset = 8;

/// By number, the addresses. The array is replaced by a larger one as it fills; old ones stay, for whoever still reads.
struct ObjectNumbers {
    std::atomic<const std::uintptr_t *> addresses;
    std::atomic<std::uint32_t> count; ///< of numbers given, and one more for 0
};

} // namespace volley

/// Read by faces, which are libraries of their own.
extern "C" [[gnu::visibility("default")]] volley::ObjectNumbers volley_object_numbers;

namespace volley {

/// Numbers places one after the other. Returns the number of the first. Any thread may call it.
std::uint32_t number_objects(std::uintptr_t first, std::size_t places, std::size_t stride_bytes);

/// The number of a live object, or of one that was freed.
inline std::uint32_t number_of_object(std::uintptr_t address) {
    std::uint32_t number;
    std::memcpy(&number, reinterpret_cast<const char *>(address) + object_number_offset, sizeof number);
    return number;
}

/// The address of the object with that number; 0 if none has it.
inline std::uintptr_t numbered_object(std::uint32_t number) {
    if (number >= volley_object_numbers.count.load(std::memory_order_acquire)) return 0;
    return volley_object_numbers.addresses.load(std::memory_order_relaxed)[number];
}

} // namespace volley
