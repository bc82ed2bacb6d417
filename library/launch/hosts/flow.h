// SPDX-License-Identifier: BSD-3-Clause
/// One direction of a relayed connection (relay.h): bytes from one socket that never blocks to another, in their
/// order. What the destination does not take is kept, up to a limit; from then on nothing is read, so that the source
/// waits (back-pressure). A flow through which nothing is under way has no memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace volley::launch {

class Flow {
  public:
    /// What a rank may have sent eagerly to another before that has received it (eager_credit in transport/tcp/wire.h):
    /// so these messages leave the sender's program, whatever the receiver's does.
    static constexpr std::size_t most_kept = 4 << 20;

    /// Reads once from `source`, by way of `scratch`, and writes what the destination takes at once. A `destination`
    /// of -1 is not there yet. False if nothing has come.
    bool read(int source, int destination, std::span<char> scratch);
    /// Writes what is kept.
    void write(int destination);

    /// More can be read: it has not ended, and there is room.
    [[nodiscard]] bool wants_to_read() const {
        return !has_ended_ && pending() < most_kept;
    }
    [[nodiscard]] bool wants_to_write() const {
        return pending() > 0;
    }
    [[nodiscard]] bool has_ended() const {
        return has_ended_;
    }
    /// The source has said its last, and the destination has got all of it and been told so, or is gone.
    [[nodiscard]] bool is_over() const {
        return has_ended_ && (is_told_ || is_broken_);
    }

  private:
    [[nodiscard]] std::size_t pending() const {
        return kept_.size() - written_;
    }
    std::size_t put(int destination, std::span<const char> bytes);
    void keep(std::span<const char> bytes);
    void tell_end(int destination);

    std::vector<char> kept_;
    std::size_t written_ = 0; ///< of kept_
    bool has_ended_ = false;  ///< the source says no more
    bool is_broken_ = false;  ///< the destination is gone: what comes is dropped
    bool is_told_ = false;    ///< the destination knows that it has ended
};

} // namespace volley::launch
