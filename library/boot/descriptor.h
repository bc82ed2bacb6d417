// SPDX-License-Identifier: BSD-3-Clause
/// A file descriptor that is closed when its owner goes.
#pragma once

#include <unistd.h>

#include <utility>

namespace volley {

class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept {
        if (this != &other) {
            reset();
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;
    ~Descriptor() {
        reset();
    }

    void reset() {
        if (number_ >= 0) close(number_);
        number_ = -1;
    }
    /// The number, which from now on is the caller's to close.
    [[nodiscard]] int release() {
        return std::exchange(number_, -1);
    }
    [[nodiscard]] int get() const {
        return number_;
    }
    explicit operator bool() const {
        return number_ >= 0;
    }

  private:
    int number_ = -1;
};

} // namespace volley
