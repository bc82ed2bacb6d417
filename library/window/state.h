// SPDX-License-Identifier: BSD-3-Clause
/// What a rank knows of a window: where the memory of each rank is and how it gets there, and which epochs are open.
#pragma once

#include "core/communicator.h"
#include "core/engine.h"
#include "core/error.h"
#include "core/window.h"
#include "layout/checked.h"
#include "transport/process.h"
#include "window/shared.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace volley {

/// How this rank gets to a target's memory.
enum class Access : std::uint8_t {
    direct,   ///< by loads and stores
    kernel,   ///< by process_vm_readv and process_vm_writev
    messages, ///< by requests to the target, which it serves when it makes progress (window/remote.h)
};

/// Which lock this rank has at a target.
enum class Held : std::uint8_t { nothing, shared, exclusive, unchecked /**< MPI_MODE_NOCHECK: no lock was taken */ };

class RemoteAccess;

struct WindowTarget {
    char *base = nullptr; ///< an address of the target; nullptr in a dynamic window: displacements are addresses
    Count size = 0;       ///< bytes
    Count disp_unit = 1;
    WindowPart *part = nullptr; ///< nullptr: of another node
    ProcessIndex process = -1;
    Access access = Access::messages;
    bool locks_accumulates = false; ///< not all ranks of its node reach its memory by loads and stores
    bool open = false;              ///< may be accessed: it is locked, or MPI_Win_start has named it
    bool dirty = false;             ///< has been sent requests by message since the last flush
    Held held = Held::nothing;
    std::uint64_t posts_seen = 0;     ///< that this rank has answered with MPI_Win_start
    std::uint64_t completes_seen = 0; ///< of the target, as an origin, that this rank has waited for
};

struct WindowState {
    std::vector<WindowTarget> targets; ///< by rank
    WindowPart *own = nullptr;

    // The memory that the library has allocated, to be given back.
    void *memory = nullptr;
    std::size_t memory_bytes = 0; ///< of the arena; 0: by malloc
    /// Of a dynamic window: attached pieces, address and bytes.
    std::map<std::uintptr_t, std::uintptr_t> attached;

    // Epochs.
    bool fenced = false;        ///< since a fence that another is to follow
    bool locked_all = false;    ///< MPI_Win_lock_all
    bool refuses_locks = false; ///< hint no_locks
    int locks = 0;              ///< targets locked by MPI_Win_lock
    std::vector<int> started;   ///< targets, in an epoch of MPI_Win_start
    std::vector<int> exposed;   ///< origins, in an epoch of MPI_Win_post
    bool starts = false, posts = false;

    std::unique_ptr<RemoteAccess> remote; ///< nullptr: all ranks reach all targets' memory

    WindowState();
    ~WindowState();

    bool may_access(const WindowTarget &target) const {
        return target.open || fenced;
    }
    bool is_passive() const {
        return locks > 0 || locked_all;
    }
};

inline WindowState &state_of(Window &window) {
    return *window.state;
}

/// What a wait for another rank's part in the synchronisation publishes.
WaitingFor about_target(Window &window, int rank);
/// Waits for what other ranks of the window do. False if that has not happened, and a rank of the window has failed: it
/// may have been that one's part, or that of one that has given up.
template <class Ready> bool wait_for_ranks(Window &window, Ready &&ready, const WaitingFor &about = {}) {
    bool is_ready = false;
    engine.wait_until([&] { return (is_ready = ready()) || window.communicator().fault != MPI_SUCCESS; }, about);
    return is_ready;
}
/// After that: the call ends with the error.
[[noreturn]] void give_up(Window &window);

/// Wakes those that wait for a lock and may have it now, after it has changed.
void wake_waiters(WindowState &state, int rank);

/// Tells this rank's epochs, for errors.
const char *epoch_of(const WindowState &state);

} // namespace volley
