// SPDX-License-Identifier: BSD-3-Clause
#include "window/instructions.h"

#include <atomic>

namespace volley {

void AtInstructions::await_locked(const WindowPart &target) {
    Wait::briefly([&] { return target.accumulates.load(std::memory_order_acquire) == Accumulates::locked; });
}

void change_to_lock(const WindowState &state, WindowPart &target) {
    Accumulates found = target.accumulates.load(std::memory_order_acquire);
    if (found == Accumulates::locked) return;
    found = Accumulates::by_instructions;
    if (!target.accumulates.compare_exchange_strong(found, Accumulates::changing)) {
        AtInstructions::await_locked(target);
        return;
    }
    if (node.fences == FenceKind::global_barrier)
        heavy_fence();
    else
        std::atomic_thread_fence(std::memory_order_seq_cst);
    for (const WindowTarget &each : state.targets)
        if (each.part != nullptr)
            Wait::briefly([&] { return each.part->at_instructions.load(std::memory_order_acquire) == 0; });
    target.accumulates.store(Accumulates::locked, std::memory_order_release);
}

} // namespace volley
