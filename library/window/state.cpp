// SPDX-License-Identifier: BSD-3-Clause
#include "window/state.h"

#include "core/failures.h"
#include "transport/node.h"
#include "window/remote.h"

namespace volley {

WindowState::WindowState() = default;
WindowState::~WindowState() = default;

void give_up(Window &window) {
    throw Interrupted(failures.code_of(window.communicator()));
}

WaitingFor about_target(Window &window, int rank) {
    return {.peer = rank,
            .context = window.communicator().context(Traffic::program),
            .kind = WaitKind::window,
            .peer_process = state_of(window).targets[static_cast<std::size_t>(rank)].process};
}

void wake_waiters(WindowState &state, int rank) {
    WindowPart &part = *state.targets[static_cast<std::size_t>(rank)].part;
    if (part.lock.waiting.load(std::memory_order_seq_cst) == 0) return;
    for (std::size_t waiter = 0; waiter < state.targets.size(); waiter++) {
        if (part.entry(static_cast<int>(waiter)).waits.load(std::memory_order_relaxed) == 0) continue;
        // For a rank of another node, whose request is here, the rank whose memory it is waits.
        const bool is_here = state.targets[waiter].part != nullptr;
        node.wake_rank(state.targets[is_here ? waiter : static_cast<std::size_t>(rank)].process);
    }
}

const char *epoch_of(const WindowState &state) {
    if (state.locked_all) return "MPI_Win_lock_all has locked all ranks";
    if (state.locks > 0) return "MPI_Win_lock has locked a rank";
    if (state.starts) return "an epoch of MPI_Win_start is open";
    if (state.posts) return "an epoch of MPI_Win_post is open";
    return state.fenced ? "an epoch of MPI_Win_fence is open" : "no epoch is open";
}

} // namespace volley
