// SPDX-License-Identifier: BSD-3-Clause
/// Epochs: fences, post and start, locks, flushes (MPI 5.0, section 12.5).
///
/// Operations that go by memory are done when their functions return. So there is nothing to flush, and synchronisation
/// only has to keep accesses apart. Of those that go by messages a flush waits for the last.
#include "core/engine.h"
#include "core/functions.h"
#include "window/remote.h"
#include "window/state.h"

#include <algorithm>
#include <utility>

namespace volley {
namespace {

WindowTarget &target_of(Window &window, int rank) {
    return state_of(window).targets[static_cast<std::size_t>(rank)];
}

int check_assertion(int assertion, int allowed) {
    if ((assertion & ~allowed) == 0) [[likely]]
        return MPI_SUCCESS;
    return fail(MPI_ERR_ASSERT, "assert is %d, which has bits that mean nothing to this function; allowed are %d",
                assertion, allowed);
}

[[gnu::cold]] int wrong_epoch(const WindowState &state, const char *reason) {
    return fail(MPI_ERR_RMA_SYNC, "%s, but %s", epoch_of(state), reason);
}

/// No epoch but one of fences is open.
int check_outside(const WindowState &state) {
    if (!state.is_passive() && !state.starts && !state.posts) [[likely]]
        return MPI_SUCCESS;
    return wrong_epoch(state, "such an epoch must have ended before");
}

int check_locks_allowed(const WindowState &state) {
    if (state.starts) return wrong_epoch(state, "a rank can be locked only outside of it");
    if (state.refuses_locks)
        return fail(MPI_ERR_RMA_SYNC, "the window was made with the hint no_locks, so nothing can be locked in it");
    return MPI_SUCCESS;
}

/// Takes the lock of a rank of this node.
void acquire(Window &window, int rank, bool exclusive) {
    WindowState &state = state_of(window);
    WindowPart &part = *target_of(window, rank).part;
    const std::uint32_t ticket = part.lock.take_ticket();
    if (!part.lock.admits(ticket, exclusive)) {
        // Whoever leaves the lock, or enters it shared, looks for waiters afterwards.
        WindowEntry &entry = part.entry(window.communicator().rank());
        entry.waits.store(1, std::memory_order_relaxed);
        part.lock.waiting.fetch_add(1, std::memory_order_seq_cst);
        const bool is_admitted =
            wait_for_ranks(window, [&] { return part.lock.admits(ticket, exclusive); }, about_target(window, rank));
        part.lock.waiting.fetch_sub(1, std::memory_order_relaxed);
        entry.waits.store(0, std::memory_order_relaxed);
        if (!is_admitted) give_up(window); // those behind this ticket are not admitted, either, and give up
    }
    if (exclusive) return;
    part.lock.enter_shared(ticket);
    wake_waiters(state, rank);
}

/// Ends what is under way to a rank.
void flush(Window &window, int rank) {
    if (state_of(window).remote != nullptr) state_of(window).remote->flush(rank);
}

void flush_all(Window &window) {
    if (state_of(window).remote != nullptr) state_of(window).remote->flush_all();
}

/// A program may poll memory by accesses and flushes alone: what it looks for may come by messages to this rank, or
/// from a rank that wants its core. Where all goes by memory, a look now and then is enough.
void look_around(const WindowState &state) {
    constexpr std::uint32_t flushes_between = 256;
    static std::uint32_t flushes = 0; // of this rank, whose lock the caller has
    if (++flushes % flushes_between == 0)
        engine.look();
    else if (state.remote != nullptr)
        engine.progress();
}

/// Locks a target, or asks it for its lock: answers are waited for later.
void lock_target(Window &window, int rank, Held wanted) {
    WindowTarget &target = target_of(window, rank);
    if (wanted != Held::unchecked) {
        if (target.part != nullptr)
            acquire(window, rank, wanted == Held::exclusive);
        else
            state_of(window).remote->ask(rank, wanted == Held::exclusive ? RequestKind::lock_exclusive
                                                                         : RequestKind::lock_shared);
    }
    target.held = wanted;
    target.open = true;
}

/// Gives the lock of a target back, or asks it to take it back. Accesses by messages to ranks of this node have been
/// flushed.
void unlock_target(Window &window, int rank) {
    WindowTarget &target = target_of(window, rank);
    target.open = false;
    const Held held = std::exchange(target.held, Held::nothing);
    if (held == Held::unchecked) return;
    if (target.part == nullptr)
        return state_of(window).remote->ask(rank, held == Held::exclusive ? RequestKind::unlock_exclusive
                                                                          : RequestKind::unlock_shared);
    if (held == Held::exclusive)
        target.part->lock.leave_exclusive();
    else
        target.part->lock.leave_shared();
    wake_waiters(state_of(window), rank);
}

/// Whether an unlock waits for accesses before it: one of a rank on another node is served after them.
bool is_flushed_before(const WindowTarget &target) {
    return target.dirty && (target.part != nullptr || target.held == Held::unchecked);
}

void wait_for_answers(Window &window, int rank) {
    if (state_of(window).remote != nullptr) state_of(window).remote->wait_for_answers(rank);
}

int check_flush(Window &window, int rank) {
    if (target_of(window, rank).held != Held::nothing) return MPI_SUCCESS;
    return fail(MPI_ERR_RMA_SYNC, "rank is %d, which is not locked, as it must be to be flushed", rank);
}

int check_flush_all(const WindowState &state) {
    if (state.is_passive()) return MPI_SUCCESS;
    return wrong_epoch(state, "a flush belongs between MPI_Win_lock or MPI_Win_lock_all and its end");
}

int find_ranks(const Window &window, const Group &group, std::vector<int> &ranks) {
    ranks.clear();
    for (ProcessIndex process : group.processes()) {
        const int rank = window.communicator().local().member(process);
        if (rank == MPI_UNDEFINED)
            return fail(MPI_ERR_GROUP, "group has a process, rank %d in MPI_COMM_WORLD, that is not in the window",
                        processes.rank_in_job(process));
        ranks.push_back(rank);
    }
    return MPI_SUCCESS;
}

/// Tells a rank that this one has posted its memory to it, or completed its accesses.
void announce(Window &window, int rank, std::atomic<std::uint64_t> WindowEntry::*counter, RequestKind kind) {
    const WindowTarget &other = target_of(window, rank);
    if (other.part == nullptr) return state_of(window).remote->notify(rank, kind);
    (other.part->entry(window.communicator().rank()).*counter).fetch_add(1, std::memory_order_release);
    node.wake_rank(other.process);
}

/// Whether this origin has completed the accesses of the epoch that is open for it.
bool has_completed(Window &window, int origin) {
    const std::uint64_t completed = state_of(window).own->entry(origin).completed.load(std::memory_order_acquire);
    return completed > target_of(window, origin).completes_seen;
}

void end_exposure(Window &window) {
    WindowState &state = state_of(window);
    for (int origin : state.exposed) target_of(window, origin).completes_seen++;
    state.exposed.clear();
    state.posts = false;
}

} // namespace

namespace mpi {

int Win_fence(int assertion, Window &win) {
    constexpr int allowed = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    WindowState &state = state_of(win);
    if (int code = check_assertion(assertion, allowed)) return code;
    if (int code = check_outside(state)) return code;
    state.fenced = (assertion & MPI_MODE_NOSUCCEED) == 0;
    flush_all(win);
    if ((assertion & MPI_MODE_NOPRECEDE) != 0 && !state.fenced) return MPI_SUCCESS; // it keeps nothing apart
    return Barrier(win.communicator());
}

int Win_post(Group &group, int assertion, Window &win) {
    WindowState &state = state_of(win);
    if (int code = check_assertion(assertion, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT)) return code;
    if (state.posts) return wrong_epoch(state, "MPI_Win_wait must end it first");
    if (int code = find_ranks(win, group, state.exposed)) return code;
    state.posts = true;
    for (int origin : state.exposed) announce(win, origin, &WindowEntry::posted, RequestKind::post);
    return MPI_SUCCESS;
}

int Win_start(Group &group, int assertion, Window &win) {
    WindowState &state = state_of(win);
    if (int code = check_assertion(assertion, MPI_MODE_NOCHECK)) return code;
    if (state.starts) return wrong_epoch(state, "MPI_Win_complete must end it first");
    if (state.is_passive()) return wrong_epoch(state, "it must be unlocked first");
    if (int code = find_ranks(win, group, state.started)) return code;
    for (int rank : state.started) {
        WindowTarget &target = target_of(win, rank);
        const auto has_posted = [&] {
            return state.own->entry(rank).posted.load(std::memory_order_acquire) > target.posts_seen;
        };
        if (!wait_for_ranks(win, has_posted, about_target(win, rank))) give_up(win);
        target.posts_seen++;
        target.open = true;
    }
    state.starts = true;
    return MPI_SUCCESS;
}

int Win_complete(Window &win) {
    WindowState &state = state_of(win);
    if (!state.starts) return wrong_epoch(state, "MPI_Win_complete ends one of MPI_Win_start");
    flush_all(win);
    for (int rank : state.started) {
        target_of(win, rank).open = false;
        announce(win, rank, &WindowEntry::completed, RequestKind::complete);
    }
    state.started.clear();
    state.starts = false;
    return MPI_SUCCESS;
}

int Win_wait(Window &win) {
    WindowState &state = state_of(win);
    if (!state.posts) return wrong_epoch(state, "MPI_Win_wait ends one of MPI_Win_post");
    for (int origin : state.exposed)
        if (!wait_for_ranks(win, [&] { return has_completed(win, origin); }, about_target(win, origin))) give_up(win);
    end_exposure(win);
    return MPI_SUCCESS;
}

int Win_test(Window &win, int *flag) {
    WindowState &state = state_of(win);
    if (!state.posts) return wrong_epoch(state, "MPI_Win_test ends one of MPI_Win_post");
    *flag = engine.poll(
        [&] { return std::ranges::all_of(state.exposed, [&](int origin) { return has_completed(win, origin); }); });
    if (*flag) end_exposure(win);
    return MPI_SUCCESS;
}

/// MPI_PROC_NULL may be locked, as other MPIs allow it: programs lock a neighbour that is not there.
int Win_lock(int lock_type, int rank, int assertion, Window &win) {
    WindowState &state = state_of(win);
    if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE)
        return fail(MPI_ERR_LOCKTYPE, "lock_type is %d, but must be MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE", lock_type);
    if (int code = check_assertion(assertion, MPI_MODE_NOCHECK)) return code;
    if (int code = check_locks_allowed(state)) return code;
    if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
    if (state.locked_all || target_of(win, rank).held != Held::nothing)
        return fail(MPI_ERR_RMA_SYNC, "rank is %d, which this rank has locked already", rank);
    const Held checked = lock_type == MPI_LOCK_EXCLUSIVE ? Held::exclusive : Held::shared;
    lock_target(win, rank, (assertion & MPI_MODE_NOCHECK) != 0 ? Held::unchecked : checked);
    wait_for_answers(win, rank);
    state.locks++;
    state.fenced = false;
    return MPI_SUCCESS;
}

int Win_unlock(int rank, Window &win) {
    if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
    WindowState &state = state_of(win);
    if (state.locked_all || target_of(win, rank).held == Held::nothing)
        return fail(MPI_ERR_RMA_SYNC, "rank is %d, which MPI_Win_lock has not locked", rank);
    if (is_flushed_before(target_of(win, rank))) flush(win, rank);
    unlock_target(win, rank);
    wait_for_answers(win, rank);
    state.locks--;
    look_around(state);
    return MPI_SUCCESS;
}

int Win_lock_all(int assertion, Window &win) {
    WindowState &state = state_of(win);
    if (int code = check_assertion(assertion, MPI_MODE_NOCHECK)) return code;
    if (int code = check_locks_allowed(state)) return code;
    if (state.is_passive()) return wrong_epoch(state, "it must be unlocked first");
    const Held wanted = (assertion & MPI_MODE_NOCHECK) != 0 ? Held::unchecked : Held::shared;
    for (int rank = 0; rank < win.communicator().size(); rank++) lock_target(win, rank, wanted);
    wait_for_answers(win, 0);
    state.locked_all = true;
    state.fenced = false;
    return MPI_SUCCESS;
}

int Win_unlock_all(Window &win) {
    WindowState &state = state_of(win);
    if (!state.locked_all) return wrong_epoch(state, "MPI_Win_unlock_all ends one of MPI_Win_lock_all");
    if (std::ranges::any_of(state.targets, is_flushed_before)) flush_all(win);
    for (int rank = 0; rank < win.communicator().size(); rank++) unlock_target(win, rank);
    wait_for_answers(win, 0);
    state.locked_all = false;
    look_around(state);
    return MPI_SUCCESS;
}

int Win_flush(int rank, Window &win) {
    if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
    if (int code = check_flush(win, rank)) return code;
    flush(win, rank);
    look_around(state_of(win));
    return MPI_SUCCESS;
}

/// Data that come back are here only once they have been sent there, so this is no less than a flush.
int Win_flush_local(int rank, Window &win) {
    return Win_flush(rank, win);
}

int Win_flush_all(Window &win) {
    if (int code = check_flush_all(state_of(win))) return code;
    flush_all(win);
    look_around(state_of(win));
    return MPI_SUCCESS;
}

int Win_flush_local_all(Window &win) {
    return Win_flush_all(win);
}

int Win_sync(Window &) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    engine.progress(); // a loop around it may wait for what another rank does to this one's memory
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
