// SPDX-License-Identifier: BSD-3-Clause
/// A socket between two processes, one of each of two jobs, by which the jobs get to know each other.
///
/// Every wait here progresses messages meanwhile, and sleeps on the socket as well: the peer's bytes, or its end, wake
/// the rank.
#pragma once

#include "boot/descriptor.h"
#include "boot/job.h"

#include <chrono>
#include <cstddef>
#include <utility>

namespace volley {

/// While it lives, the rank's sleep ends if something can be read from the descriptor (or written to it).
class Watch {
  public:
    explicit Watch(int descriptor, bool writable = false);
    Watch(const Watch &) = delete;
    Watch &operator=(const Watch &) = delete;
    ~Watch();

  private:
    int descriptor_;
};

/// A time after which a wait on a link fails, with errno ETIMEDOUT. Its descriptor wakes the rank.
class Deadline {
  public:
    /// Throws Error if the system has no timer left.
    explicit Deadline(std::chrono::seconds from_now);
    bool has_passed() const;
    int descriptor() const {
        return timer_.get();
    }

  private:
    Descriptor timer_;
};

class Link {
  public:
    Link() = default;
    /// Owns the socket, or uses one of the program's.
    explicit Link(Descriptor socket) : owned_(std::move(socket)), socket_(owned_.get()) {}
    explicit Link(int socket) : socket_(socket) {}

    /// Until then its reads and writes wait. It must live as long as they may be called.
    void set_deadline(const Deadline &deadline) {
        deadline_ = &deadline;
    }

    // False if the peer has gone, or the deadline has passed, before all is there. Not a byte more than that is taken
    // from the stream.
    bool write(const void *bytes, std::size_t count);
    bool read(void *bytes, std::size_t count);

    /// The address of this end; the loopback's if the socket has none.
    [[nodiscard]] NetworkAddress own_address() const;

  private:
    template <class Move> bool move_all(bool writes, std::size_t count, Move &&move);

    Descriptor owned_;
    int socket_ = -1;
    const Deadline *deadline_ = nullptr; ///< nullptr: none
};

} // namespace volley
