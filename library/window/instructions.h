// SPDX-License-Identifier: BSD-3-Clause
/// Whether accumulate operations on integers at a target go by the processor's atomic instructions or under its lock.
///
/// All operations on an element must be atomic to each other, so all that may meet go the same way. One element is
/// fastest by an instruction; an array under the lock, by vectors (1024 integers of 8 bytes: 0.1 us and not 5; bytes
/// even more). A target begins with instructions. The first operation with an array there changes it for good:
///
///     by instructions                     the one who changes it
///     own at_instructions = 1             accumulates = changing
///     ---- light fence ----               ---- heavy fence ----
///     look at accumulates                 wait until no rank has at_instructions
///     the instruction                     accumulates = locked
///     own at_instructions = 0
///
/// These are the fences of wait/sleep.h: a heavy one is the kernel's, so that one instruction costs two plain stores
/// and a load more. Who finds `changing` waits the moment until it is `locked`. instructions.pml models it.
#pragma once

#include "window/state.h"

namespace volley {

/// From so many elements on an operation takes the lock.
inline constexpr Count array_elements = 8;

/// While it lives and is true, this rank may use atomic instructions on the target's memory, and must not call anything
/// that may wait. If it is false the lock is to be taken.
class AtInstructions {
  public:
    AtInstructions(WindowPart &own, const WindowPart &target) : own_(own) {
        own.at_instructions.store(1, std::memory_order_relaxed);
        sender_fence(node.fences);
        may_ = target.accumulates.load(std::memory_order_acquire) == Accumulates::by_instructions;
        if (!may_) [[unlikely]] {
            own.at_instructions.store(0, std::memory_order_release);
            if (target.accumulates.load(std::memory_order_acquire) == Accumulates::changing) await_locked(target);
        }
    }
    ~AtInstructions() {
        if (may_) own_.at_instructions.store(0, std::memory_order_release);
    }
    AtInstructions(const AtInstructions &) = delete;
    AtInstructions &operator=(const AtInstructions &) = delete;

    explicit operator bool() const {
        return may_;
    }

    /// The one who changes it is at it.
    static void await_locked(const WindowPart &target);

  private:
    WindowPart &own_;
    bool may_;
};

/// After this all accumulate operations at the target take its lock.
void change_to_lock(const WindowState &state, WindowPart &target);

} // namespace volley
