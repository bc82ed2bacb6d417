// SPDX-License-Identifier: BSD-3-Clause
/// What the ranks of a node share about one rank's part of a window. Plain data in the arena, zero at first; the rank
/// makes it, and tells the others where it is when the window is made.
#pragma once

#include "arena/shared_lock.h"
#include "boot/job.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace volley {

/// The lock of passive target synchronisation, fair in the order of asking. Who asks takes a ticket. The ticket whose
/// turn it is to be shared may enter, and gives that turn to the next ticket at once; the ticket whose turn it is to
/// be exclusive may enter once all before it have left. Without contention, MPI_Win_lock and MPI_Win_unlock cost three
/// atomic additions. lock.pml models it together with the waiting.
class PassiveLock {
  public:
    std::uint32_t take_ticket() {
        return tickets_.fetch_add(1, std::memory_order_relaxed);
    }
    /// Whether the holder of this ticket may enter. Once true, it stays true until that holder enters and leaves.
    bool admits(std::uint32_t ticket, bool exclusive) const {
        return (exclusive ? exclusive_turn_ : shared_turn_).load(std::memory_order_acquire) == ticket;
    }
    // Each of these is called by the holder of an admitted ticket, and may let others in: they are to be woken then.
    void enter_shared(std::uint32_t ticket) {
        shared_turn_.exchange(ticket + 1, std::memory_order_seq_cst);
    }
    void leave_shared() {
        exclusive_turn_.fetch_add(1, std::memory_order_seq_cst);
    }
    /// Only its holder is inside, so nobody else changes the turns.
    void leave_exclusive() {
        shared_turn_.store(shared_turn_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        exclusive_turn_.fetch_add(1, std::memory_order_seq_cst);
    }

    /// How many wait. Raised before a waiter looks at the turns again, and read after the turns have changed.
    std::atomic<std::uint32_t> waiting;

  private:
    std::atomic<std::uint32_t> tickets_;
    std::atomic<std::uint32_t> shared_turn_, exclusive_turn_;
};

/// What one rank of the window, the other, has to do with the rank whose part this is.
struct WindowEntry {
    std::atomic<std::uint64_t> posted;    ///< how often the other has posted its memory to this rank
    std::atomic<std::uint64_t> completed; ///< how often the other has completed its accesses to this rank's memory
    std::atomic<std::uint32_t> waits;     ///< 1: the other waits for the lock
};

/// How accumulate operations on elements that the processor has atomic instructions for are done at a target.
enum class Accumulates : std::uint32_t {
    by_instructions,
    changing, ///< to the lock: some may still be at an instruction
    locked,
};

struct alignas(cache_line) WindowPart {
    PassiveLock lock;
    std::atomic<Accumulates> accumulates; ///< of this part's memory (window/instructions.h); changes once at most
    /// Of accumulate operations that do not go by atomic instructions: on elements that the processor has none for, on
    /// arrays, and where some rank reaches the memory only by the kernel. It is held for a piece of some elements.
    alignas(cache_line) SharedLock accumulate_lock;
    /// 1: this rank is at an atomic instruction on some target's memory. Only it writes here.
    alignas(cache_line) std::atomic<std::uint32_t> at_instructions;

    /// By rank in the window.
    WindowEntry &entry(int rank) {
        return reinterpret_cast<WindowEntry *>(this + 1)[rank];
    }
    static std::size_t footprint(int ranks) {
        return sizeof(WindowPart) + static_cast<std::size_t>(ranks) * sizeof(WindowEntry);
    }
};

} // namespace volley
