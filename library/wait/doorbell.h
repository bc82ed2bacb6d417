// SPDX-License-Identifier: BSD-3-Clause
/// How processes of other jobs wake this one. They share memory with it for messages (transport/tcp/shared_stream.h),
/// but not the arena, which has what ranks of one job wake each other by (wait/sleep.h).
///
/// Each such process has a *doorbell*: a page of its own that the others have mapped. Whoever has changed memory for
/// the process rings. The process, as long as it is awake, compares how often that has happened with how often it has
/// looked: one load in each round of progress, however many others there are. If it sleeps, or is about to, whoever
/// rings first sends a byte to its wake-up socket (wait/descriptors.h). The orders that lose no wake-up:
///
///     sleeper                              who rings
///     is_asleep = 1                        change memory
///     look at `rings` once more            rings += 1
///     sleep on descriptors                 if is_asleep: is_asleep = 0, send a byte
///
/// All four are sequentially consistent: these processes do not know whether all of them may use the barrier of
/// wait/sleep.h. A ring costs some 5 ns for that. Only who rings takes `is_asleep` back, so a sleep that something else
/// has ended costs the next ring a byte in vain. doorbell.pml models this.
#pragma once

#include "boot/descriptor.h"
#include "boot/job.h"
#include "boot/sealed_memory.h"

#include <atomic>
#include <cstdint>

namespace volley {

/// Plain data, written by processes of other jobs as well.
struct DoorbellPage {
    alignas(cache_line) std::atomic<std::uint32_t> rings;
    std::atomic<std::uint32_t> is_asleep;
    std::uint32_t wake_up_socket; ///< its name, constant

    void ring();
};

/// This process's.
class Doorbell {
  public:
    /// Makes it, unless it is there. False if the system has no room. Precondition: descriptors.in_use().
    bool open(std::uint32_t wake_up_socket);
    /// By which others map it.
    [[nodiscard]] const Descriptor &file() const {
        return file_;
    }

    /// Somebody has rung since the last look().
    [[nodiscard]] bool has_rung() const {
        return page_ != nullptr &&
               page_->rings.load(std::memory_order_acquire) != looked_at_.load(std::memory_order_relaxed);
    }
    /// Called with the rank's lock, before it looks at all that those who ring may have changed.
    void look() {
        looked_at_.store(page_->rings.load(std::memory_order_acquire), std::memory_order_relaxed);
    }
    /// Lets this process look again in the next round, before it sleeps.
    void look_again() {
        page_->rings.fetch_add(1, std::memory_order_relaxed);
    }
    /// From now on whoever rings sends a byte as well. False if somebody has rung before. Called before each sleep on
    /// descriptors, without the rank's lock.
    bool announce_sleep();

  private:
    Descriptor file_;
    SealedMemory memory_;
    DoorbellPage *page_ = nullptr;
    std::atomic<std::uint32_t> looked_at_ = 0; ///< how many rings
};

/// Outlives static destructors, as what others ring may.
extern Doorbell &doorbell;

/// Another process's.
class OtherDoorbell {
  public:
    OtherDoorbell() = default;
    /// Empty if it cannot be mapped.
    explicit OtherDoorbell(const Descriptor &file) : memory_(SealedMemory::map(file, sizeof(DoorbellPage))) {}

    explicit operator bool() const {
        return static_cast<bool>(memory_);
    }
    void ring() const {
        reinterpret_cast<DoorbellPage *>(memory_.address())->ring();
    }

  private:
    SealedMemory memory_;
};

} // namespace volley
