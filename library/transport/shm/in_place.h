// SPDX-License-Identifier: BSD-3-Clause
/// Decides whether messages of middling size stay in the sender's buffer until the receiver copies them.
///
/// A message through the ring is copied twice, but the buffer stays in its core's cache. A message left in place is
/// copied once, but the receiver takes the buffer's lines away: if the program writes the buffer before it sends it
/// again, as most programs do, it waits for those lines. Half a ping-pong of 4 KiB, Xeon (bench/messages.cpp "kept",
/// with VOLLEY_EAGER_LIMIT 8192 and 1024): 0.98 us through the ring and 0.53 in place; if every line is written and
/// read in each round ("written"), 1.08 and 1.73. Which is faster depends on the program, so the sender tries both.
#pragma once

#include "wait/clock.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace volley {

/// Only messages above this size are tried. Smaller ones always go through the ring.
inline constexpr std::size_t in_place_above_bytes = 1024;

/// The sender's side, one per ring.
class InPlace {
  public:
    /// Whether the next message stays in the sender's buffer.
    bool stays() const {
        return good_ || until_next_round_ <= tries;
    }
    /// Counts one more message that was sent. A large one counts for several, since there are fewer of them.
    void count(std::size_t bytes) {
        if (good_) return;
        if (until_next_round_ > tries)
            until_next_round_ = std::max(tries, until_next_round_ - 1 - static_cast<int>(bytes / bytes_per_count));
        else if (--until_next_round_ == 0)
            end_round();
    }
    /// The peer is trying now. If the next round of tries is due soon here, it begins now, so that both try together.
    void join() {
        if (!good_ && until_next_round_ <= interval_ / 2) until_next_round_ = std::min(until_next_round_, tries);
    }
    /// Whether to watch this message, which stays. Watching every message would cost time, so only some are watched
    /// once staying has proved good.
    bool is_watched() {
        return !good_ || ++stayed_ % 4 == 0;
    }
    /// Takes the result of a watched message: `quick` if the receiver came soon and already had the data in its own
    /// cache.
    void learn(bool quick) {
        if (quick) {
            good_ = true;
            misses_ = 0;
        } else if (good_ && ++misses_ == tries) {
            good_ = false;
            until_next_round_ = interval_;
        }
    }
    /// The receiver of a message that stayed did not come while the sender waited. That costs many times what staying
    /// saves.
    void late() {
        good_ = false;
        misses_ = 0;
        end_round();
    }

  private:
    void end_round() {
        interval_ = std::min(2 * interval_, longest_interval);
        until_next_round_ = interval_;
    }

    static constexpr int tries = 6; ///< several, since the first ones find lines as they were written long ago
    static constexpr int longest_interval = 4096; ///< in messages; so rare that tries cost nothing
    static constexpr std::size_t bytes_per_count = 16384;

    bool good_ = false;
    int misses_ = 0;
    std::uint32_t stayed_ = 0;
    int interval_ = 32;
    int until_next_round_ = 32;
};

/// The receiver's side: how fast it reads what another core has just written, by the messages in its rings.
class LinePace {
  public:
    explicit LinePace(std::uint64_t percent) : percent_(percent) {}

    /// Calls `copy`, and times some of the calls.
    template <class Copy> void watch(std::int64_t bytes, Copy &&copy) {
        if (++copies_ % copies_per_sample != 0) return copy();
        std::uint64_t began = clock_ticks();
        copy();
        std::uint64_t now = pace(bytes, began);
        ticks_per_kib_ = ticks_per_kib_ == 0 ? now : (3 * ticks_per_kib_ + std::min(now, 2 * ticks_per_kib_)) / 4;
    }
    /// Calls `copy`. True if it took less than `percent` of the time that lines which another core has just written
    /// would have taken.
    template <class Copy> bool is_quick(std::int64_t bytes, Copy &&copy) {
        std::uint64_t began = clock_ticks();
        copy();
        return 100 * pace(bytes, began) < percent_ * ticks_per_kib_;
    }

  private:
    static constexpr std::uint32_t copies_per_sample = 4;

    static std::uint64_t pace(std::int64_t bytes, std::uint64_t began) {
        return (clock_ticks() - began) * 1024 / static_cast<std::uint64_t>(bytes);
    }

    std::uint64_t percent_;
    std::uint32_t copies_ = 0;
    std::uint64_t ticks_per_kib_ = 0;
};

} // namespace volley
