// SPDX-License-Identifier: BSD-3-Clause
/// Memory that processes share by a file without a name (memfd): one makes it, and hands its descriptor to others. Its
/// size is sealed, so nobody who has the descriptor can take pages away from those who have mapped it.
#pragma once

#include "boot/descriptor.h"

#include <cstddef>
#include <utility>

namespace volley {

class SealedMemory {
  public:
    SealedMemory() = default;
    SealedMemory(SealedMemory &&other) noexcept
        : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    SealedMemory &operator=(SealedMemory &&other) noexcept {
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    SealedMemory(const SealedMemory &) = delete;
    SealedMemory &operator=(const SealedMemory &) = delete;
    ~SealedMemory();

    /// Makes and maps it; it is zero. `file` is what others map it by. Empty if the system has no room for it.
    static SealedMemory make(const char *name, std::size_t bytes, Descriptor &file);
    /// Maps what another process has made, all of it. Empty if the system has no room for it, or if it is something
    /// else, or less than `least` bytes.
    static SealedMemory map(const Descriptor &file, std::size_t least);

    explicit operator bool() const {
        return address_ != nullptr;
    }
    [[nodiscard]] char *address() const {
        return static_cast<char *>(address_);
    }
    [[nodiscard]] std::size_t bytes() const {
        return bytes_;
    }

  private:
    SealedMemory(void *address, std::size_t bytes) : address_(address), bytes_(bytes) {}
    static SealedMemory map_all(const Descriptor &file, std::size_t bytes);

    void *address_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace volley
