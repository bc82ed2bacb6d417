// SPDX-License-Identifier: BSD-3-Clause
#include "core/object_numbers.h"

#include <algorithm>
#include <mutex>

constinit volley::ObjectNumbers volley_object_numbers{nullptr, 0};

namespace volley {
namespace {

constinit std::mutex mutex;
constinit std::uintptr_t *addresses = nullptr;
constinit std::size_t capacity = 0;

constexpr std::size_t first_capacity = 1024;

void reserve(std::size_t wanted, std::size_t used) {
    if (wanted <= capacity) return;
    const std::size_t larger = std::max({first_capacity, 2 * capacity, wanted});
    auto *fresh = new std::uintptr_t[larger];
    if (addresses != nullptr) std::copy_n(addresses, used, fresh);
    addresses = fresh;
    capacity = larger;
}

} // namespace

std::uint32_t number_objects(std::uintptr_t first, std::size_t places, std::size_t stride_bytes) {
    const std::lock_guard lock(mutex);
    const std::uint32_t begin = std::max(1U, volley_object_numbers.count.load(std::memory_order_relaxed));
    reserve(begin + places, begin);
    addresses[0] = 0;
    for (std::size_t i = 0; i < places; ++i) addresses[begin + i] = first + i * stride_bytes;
    // Whoever sees the count sees an array that has as many.
    volley_object_numbers.addresses.store(addresses, std::memory_order_relaxed);
    volley_object_numbers.count.store(begin + static_cast<std::uint32_t>(places), std::memory_order_release);
    return begin;
}

} // namespace volley
