// SPDX-License-Identifier: BSD-3-Clause
/// Making and freeing windows (MPI 5.0, section 12.2).
#include "collective/internal.h"
#include "communicator/context_allocation.h"
#include "core/attribute.h"
#include "core/functions.h"
#include "core/info.h"
#include "transport/memory.h"
#include "window/hints.h"
#include "window/memory.h"
#include "window/remote.h"
#include "window/state.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

namespace volley {
namespace {

/// What each rank tells the others about its part.
struct Announcement {
    std::uint64_t base;
    Count size, disp_unit;
    std::uint64_t part; ///< offset in its node's arena; 0: there was no memory for what the rank needs
};

/// The memory of a part.
struct Memory {
    void *base = nullptr;
    Count size = 0;
    Count disp_unit = 1;
    std::size_t arena_bytes = 0; ///< of an allocation; 0: it is not of the arena
    bool failed = false;
};

int check_size(MPI_Aint size, Count disp_unit) {
    if (size < 0) return fail(MPI_ERR_SIZE, "size is %lld, but must not be negative", static_cast<long long>(size));
    if (disp_unit <= 0)
        return fail(MPI_ERR_DISP, "disp_unit is %lld, but must be positive", static_cast<long long>(disp_unit));
    return MPI_SUCCESS;
}

bool is_on_this_node(const Communicator &comm, int rank) {
    return processes[comm.peer_process(rank)].record != nullptr;
}

bool is_in_arena(const void *base, Count size) {
    const auto *first = static_cast<const char *>(base);
    const auto *arena = reinterpret_cast<const char *>(node.arena);
    return first >= arena && first + size <= arena + node.arena->bytes;
}

/// The window's own communicator: the same ranks, with a context for its messages and an area for its fences.
int duplicate(Communicator &comm, Communicator *&made) {
    std::vector<int> members(static_cast<std::size_t>(comm.size()));
    std::iota(members.begin(), members.end(), 0);
    if (int code = make_subset(comm, members, made)) return code;
    made->session = comm.session;
    return MPI_SUCCESS;
}

/// How this rank gets to a target's memory.
Access access_to(const WindowTarget &target, bool in_arena) {
    if (in_arena || node.may_dereference(target.process)) return Access::direct;
    return kernel_reaches(target.process) ? Access::kernel : Access::messages;
}

/// Whether some rank of the target's node does not reach its memory by loads and stores: an accumulate operation of it
/// takes the lock, and so those of all others have to.
bool needs_lock(const Communicator &comm, const WindowTarget &target, bool in_arena) {
    const RankRecord *record = processes[target.process].record;
    return !in_arena && std::ranges::any_of(comm.local().processes(), [&](ProcessIndex process) {
        const RankRecord *other = processes[process].record;
        return other != nullptr && process != target.process && (record->space == 0 || other->space != record->space);
    });
}

WindowTarget target_from(const Communicator &comm, int rank, const Announcement &told, bool is_dynamic) {
    WindowTarget target;
    target.process = comm.peer_process(rank);
    target.base = reinterpret_cast<char *>(told.base);
    target.size = told.size;
    target.disp_unit = told.disp_unit;
    if (!is_on_this_node(comm, rank)) return target;
    target.part = arena_pointer<WindowPart>(told.part);
    const bool in_arena = !is_dynamic && is_in_arena(target.base, target.size);
    target.access = rank == comm.rank() ? Access::direct : access_to(target, in_arena);
    target.locks_accumulates = needs_lock(comm, target, in_arena);
    return target;
}

void release_memory(void *base, std::size_t arena_bytes) {
    if (arena_bytes != 0)
        arena_release(base, arena_bytes);
    else
        std::free(base);
}

/// Tells the others about this rank's part and hears of theirs. `placed` is called with what all have said, before the
/// window's targets follow from it, and may change it. An error code, the same on all ranks.
template <class Placed>
int exchange(Communicator &made, WindowPart *part, const Memory &memory, std::vector<Announcement> &told,
             Placed &&placed) {
    const Announcement own{reinterpret_cast<std::uint64_t>(memory.base), memory.size, memory.disp_unit,
                           part == nullptr || memory.failed ? 0 : arena_offset(part)};
    told.resize(static_cast<std::size_t>(made.size()));
    if (int code = allgather(&own, sizeof own, told.data(), made)) return code;
    const auto missing = std::ranges::find(told, std::uint64_t{0}, &Announcement::part);
    if (missing != told.end())
        return fail(MPI_ERR_NO_MEM, "there is no memory for the window's part of rank %d: %lld bytes",
                    static_cast<int>(missing - told.begin()), static_cast<long long>(missing->size));
    return placed(told);
}

/// Whether some rank of the window accesses another by messages. An error code.
int find_messages(Communicator &made, const WindowState &state, bool &any) {
    std::int64_t found =
        std::ranges::find(state.targets, Access::messages, &WindowTarget::access) != state.targets.end();
    int code = allreduce_max(&found, 1, made);
    any = found != 0;
    return code;
}

/// Makes the window of all ranks of `comm`, each with its memory, which the window takes over if it is the library's.
template <class Placed>
int make_window(Communicator &comm, int flavor, Info *info, Memory memory, MPI_Win *handle, Placed &&placed) {
    *handle = MPI_WIN_NULL;
    Communicator *made = nullptr;
    if (int code = duplicate(comm, made)) return code;
    auto *part = static_cast<WindowPart *>(arena_allocate(WindowPart::footprint(comm.size())));
    std::vector<Announcement> told;
    int code = exchange(*made, part, memory, told, placed);
    auto *state = new WindowState;
    const bool is_dynamic = flavor == MPI_WIN_FLAVOR_DYNAMIC;
    for (int rank = 0; code == MPI_SUCCESS && rank < made->size(); rank++)
        state->targets.push_back(target_from(*made, rank, told[static_cast<std::size_t>(rank)], is_dynamic));
    bool by_messages = false;
    if (code == MPI_SUCCESS) code = find_messages(*made, *state, by_messages);
    if (code != MPI_SUCCESS) {
        delete state;
        if (part != nullptr) arena_release(part, WindowPart::footprint(comm.size()));
        Communicator::release(*made);
        return code;
    }
    Window *window = Window::make(*made);
    window->state = state;
    state->own = part;
    const WindowTarget &own = state->targets[static_cast<std::size_t>(made->rank())];
    window->predefined.base = own.base;
    window->predefined.size = own.size;
    window->predefined.disp_unit = static_cast<int>(own.disp_unit);
    window->predefined.flavor = flavor;
    set_creation_hints(*window, info);
    if (by_messages) state->remote = std::make_unique<RemoteAccess>(*window);
    *handle = window->handle();
    return MPI_SUCCESS;
}

int as_told(std::vector<Announcement> &) {
    return MPI_SUCCESS;
}

/// From the arena, which all processes of the node map, or by malloc where that is used up.
Memory allocate(Count size, Count disp_unit, std::size_t alignment) {
    Memory memory{.size = size, .disp_unit = disp_unit};
    auto bytes = static_cast<std::size_t>(std::max<Count>(size, 1));
    // Blocks of a page and more begin at a page.
    if (alignment <= cache_line || alignment <= page_bytes)
        memory.base = arena_allocate_undefined(bytes = std::max(bytes, alignment <= cache_line ? 1 : page_bytes));
    if (memory.base != nullptr)
        memory.arena_bytes = bytes;
    else if (posix_memalign(&memory.base, std::max(alignment, cache_line), bytes) != 0)
        memory.failed = true;
    return memory;
}

/// The segments of all ranks in one block, one after the other: rank 0 allocates it.
int place_contiguously(Communicator &made, Memory &block, std::vector<Announcement> &told) {
    Count total = 0;
    for (const Announcement &each : told)
        if (__builtin_add_overflow(total, each.size, &total)) total = INT64_MAX;
    std::uint64_t offset = 0;
    if (made.rank() == 0) {
        block.arena_bytes = static_cast<std::size_t>(std::max<Count>(total, 1));
        block.base = arena_allocate_undefined(block.arena_bytes);
        if (block.base != nullptr) offset = arena_offset(block.base);
    }
    if (int code = broadcast(&offset, sizeof offset, 0, made)) return code;
    if (offset == 0)
        return fail(MPI_ERR_NO_MEM, "the memory that ranks share has no room for the window's %lld bytes",
                    static_cast<long long>(total));
    for (Announcement &each : told) {
        each.base = reinterpret_cast<std::uint64_t>(arena_pointer<char>(offset));
        offset += static_cast<std::uint64_t>(each.size);
    }
    return MPI_SUCCESS;
}

bool is_noncontiguous(const Info *info) {
    const std::string *value = info != nullptr ? info->find("alloc_shared_noncontig") : nullptr;
    return value != nullptr && *value == "true";
}

/// The library's memory goes with the window.
void take_over(MPI_Win handle, const Memory &memory) {
    WindowState &state = state_of(*Window::from_handle(handle));
    state.memory = memory.base;
    state.memory_bytes = memory.arena_bytes;
}

/// All others have ended their accesses: what the window has goes.
void dispose(Window &window) {
    WindowState &state = state_of(window);
    arena_release(state.own, WindowPart::footprint(window.communicator().size()));
    if (state.memory != nullptr) release_memory(state.memory, state.memory_bytes);
    delete std::exchange(window.state, nullptr);
    Window::destroy(window);
}

/// Attached memory is found by the first address not below a given one.
bool overlaps_attached(const WindowState &state, std::uintptr_t first, std::uintptr_t bytes) {
    auto next = state.attached.lower_bound(first);
    if (next != state.attached.end() && next->first < first + bytes) return true;
    return next != state.attached.begin() && std::prev(next)->first + std::prev(next)->second > first;
}

int check_dynamic(const Window &window, const char *function) {
    if (window.predefined.flavor == MPI_WIN_FLAVOR_DYNAMIC) return MPI_SUCCESS;
    return fail(MPI_ERR_RMA_FLAVOR, "%s is for windows of MPI_Win_create_dynamic", function);
}

} // namespace

namespace mpi {

int Win_create(void *base, MPI_Aint size, Count disp_unit, Info *info, Communicator &comm, MPI_Win *win) {
    if (int code = check_size(size, disp_unit)) return code;
    if (base == nullptr && size > 0)
        return fail(MPI_ERR_BASE, "base is a null pointer, but size is %lld", static_cast<long long>(size));
    return make_window(comm, MPI_WIN_FLAVOR_CREATE, info, {.base = base, .size = size, .disp_unit = disp_unit}, win,
                       as_told);
}

int Win_allocate(MPI_Aint size, Count disp_unit, Info *info, Communicator &comm, void *baseptr, MPI_Win *win) {
    if (int code = check_size(size, disp_unit)) return code;
    const Memory memory = allocate(size, disp_unit, alignment_hint(info));
    int code = make_window(comm, MPI_WIN_FLAVOR_ALLOCATE, info, memory, win, as_told);
    if (code != MPI_SUCCESS) {
        if (!memory.failed) release_memory(memory.base, memory.arena_bytes);
        return code;
    }
    take_over(*win, memory);
    *static_cast<void **>(baseptr) = memory.base;
    return MPI_SUCCESS;
}

int Win_allocate_shared(MPI_Aint size, Count disp_unit, Info *info, Communicator &comm, void *baseptr, MPI_Win *win) {
    if (int code = check_size(size, disp_unit)) return code;
    for (int rank = 0; rank < comm.size(); rank++)
        if (!is_on_this_node(comm, rank))
            return fail(MPI_ERR_RMA_SHARED,
                        "rank %d of comm does not share memory with this one: MPI_Comm_split_type with "
                        "MPI_COMM_TYPE_SHARED makes communicators of ranks that do",
                        rank);
    Memory memory{.size = size, .disp_unit = disp_unit};
    int code;
    if (is_noncontiguous(info)) {
        memory = allocate(size, disp_unit, alignment_hint(info));
        if (memory.arena_bytes == 0) { // memory that only this process has is of no use
            std::free(std::exchange(memory.base, nullptr));
            memory.failed = true;
        }
        code = make_window(comm, MPI_WIN_FLAVOR_SHARED, info, memory, win, as_told);
    } else {
        Memory block{};
        code = make_window(comm, MPI_WIN_FLAVOR_SHARED, info, memory, win,
                           [&](std::vector<Announcement> &told) { return place_contiguously(comm, block, told); });
        memory = block;
    }
    if (code != MPI_SUCCESS) {
        if (memory.base != nullptr) release_memory(memory.base, memory.arena_bytes);
        return code;
    }
    take_over(*win, memory);
    *static_cast<void **>(baseptr) = Window::from_handle(*win)->predefined.base;
    return MPI_SUCCESS;
}

int Win_create_dynamic(Info *info, Communicator &comm, MPI_Win *win) {
    return make_window(comm, MPI_WIN_FLAVOR_DYNAMIC, info, {}, win, as_told);
}

int Win_attach(Window &win, void *base, MPI_Aint size) {
    if (int code = check_dynamic(win, "MPI_Win_attach")) return code;
    if (int code = check_size(size, 1)) return code;
    if (base == nullptr && size > 0)
        return fail(MPI_ERR_BASE, "base is a null pointer, but size is %lld", static_cast<long long>(size));
    WindowState &state = state_of(win);
    const auto first = reinterpret_cast<std::uintptr_t>(base);
    if (overlaps_attached(state, first, static_cast<std::uintptr_t>(size)))
        return fail(MPI_ERR_RMA_ATTACH, "the %lld bytes at %p overlap with memory that is attached already",
                    static_cast<long long>(size), base);
    state.attached[first] = static_cast<std::uintptr_t>(size);
    return MPI_SUCCESS;
}

int Win_detach(Window &win, const void *base) {
    if (int code = check_dynamic(win, "MPI_Win_detach")) return code;
    if (state_of(win).attached.erase(reinterpret_cast<std::uintptr_t>(base)) == 0)
        return fail(MPI_ERR_RMA_ATTACH, "base is %p, at which no attached memory begins", base);
    return MPI_SUCCESS;
}

int Win_shared_query(Window &win, int rank, MPI_Aint *size, Count &disp_unit, void *baseptr) {
    if (win.predefined.flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return fail(MPI_ERR_RMA_FLAVOR, "the window was made by MPI_Win_create_dynamic: it has no memory of its own");
    const auto &targets = state_of(win).targets;
    auto found = rank != MPI_PROC_NULL
                     ? targets.begin() + rank
                     : std::ranges::find_if(targets, [](Count bytes) { return bytes > 0; }, &WindowTarget::size);
    const bool any = found != targets.end() && found->access == Access::direct && found->base != nullptr;
    *size = any ? found->size : 0;
    disp_unit = any ? found->disp_unit : 1;
    *static_cast<void **>(baseptr) = any ? found->base : nullptr;
    return MPI_SUCCESS;
}

int Win_free(MPI_Win *win) {
    Window *window = Window::from_handle(*win);
    if (window == nullptr)
        return fail(MPI_ERR_WIN, "win is %s, not a window that can be freed",
                    *win == MPI_WIN_NULL ? "MPI_WIN_NULL" : "no live window");
    blame(window->communicator());
    const WindowState &state = state_of(*window);
    if (state.is_passive() || state.starts || state.posts)
        return fail(MPI_ERR_RMA_SYNC, "%s, but the window can be freed only after that", epoch_of(state));
    if (int code = delete_attributes(*window)) return code;
    if (int code = Barrier(window->communicator())) return code;
    if (state.remote != nullptr) state.remote->close();
    forget_blame();
    *win = MPI_WIN_NULL;
    dispose(*window);
    return MPI_SUCCESS;
}

int Win_get_group(Window &win, MPI_Group *group) {
    Group &own = win.communicator().local();
    if (own.session() == win.communicator().session) {
        own.retain();
        *group = own.handle();
    } else {
        *group = Group::make(own.processes(), win.communicator().session)->handle();
    }
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
