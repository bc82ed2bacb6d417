// SPDX-License-Identifier: BSD-3-Clause
#include "init/initialise.h"

#include "arena/shared_lock.h"
#include "boot/build_id.h"
#include "boot/error.h"
#include "boot/join.h"
#include "boot/revocation.h"
#include "collective/selection.h"
#include "communicator/agreement.h"
#include "communicator/bootstrap_messages.h"
#include "core/attribute.h"
#include "core/buffered.h"
#include "core/communicator.h"
#include "core/contexts.h"
#include "core/engine.h"
#include "core/error.h"
#include "core/failures.h"
#include "core/functions.h"
#include "core/introspection.h"
#include "core/messages.h"
#include "dynamic/parent.h"
#include "init/progress_thread.h"
#include "transport/abort.h"
#include "transport/tcp/tcp.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace volley {
namespace {

int users = 0; ///< MPI_Init and sessions
bool joined = false;
std::atomic<pthread_t> main_thread;

/// Finds what the ranks of this node share. The first rank makes it; it is zero at first, which is a valid beginning.
NodeShared *find_shared(ArenaHead &arena) {
    std::atomic<std::uint64_t> &shared = node_records(&arena)[node.number()].shared;
    std::uint64_t offset = shared.load(std::memory_order_acquire);
    if (offset == 0) {
        void *made = arena_allocate(NodeShared::footprint(arena.ranks));
        if (!made) throw Error("the memory the ranks share is too small for " + std::to_string(arena.ranks) + " ranks");
        if (shared.compare_exchange_strong(offset, arena_offset(made)))
            offset = arena_offset(made);
        else
            arena_release(made, NodeShared::footprint(arena.ranks));
    }
    return arena_pointer<NodeShared>(offset);
}

/// The library determines the layout of what ranks share, so all ranks must have loaded the same build.
void check_library(ArenaHead &arena) {
    const std::uint64_t own = build_id();
    std::uint64_t others = 0;
    if (own == 0 || arena.library.compare_exchange_strong(others, own) || others == own) return;
    throw Error("the ranks of this job have loaded different builds of libmpi_abi.so.1: see which one each program "
                "finds (ldd, LD_LIBRARY_PATH), and let all find the one that belongs to mpiexec");
}

/// The transport is chosen for the whole job: a setting for one program only would be ignored.
void check_transport() {
    if (node.settings.transport.value_or(node.arena->transport) == node.arena->transport) return;
    throw Error("the environment variable VOLLEY_TRANSPORT has another value here than for the whole job: set it with "
                "mpiexec --transport");
}

/// Ranks that had different values would take different steps in a collective operation, and wait for each other.
void check_setting(const char *variable, std::uint64_t own, std::atomic<std::uint64_t> &first) {
    std::uint64_t others = 0;
    if (first.compare_exchange_strong(others, own + 1) || others == own + 1) return;
    throw Error(std::string("the environment variable ") + variable +
                " has another value here than in other ranks: set it for the whole job (mpiexec -genv)");
}

/// A rank has failed within one of the sections that locks guard: nobody knows what it has left undone there.
void end_if_gone(std::uint32_t holder) {
    if (node.has_failed(static_cast<ProcessIndex>(holder) - 1))
        abort_job_for("a rank has failed in the middle of a change to the memory ranks share: the job cannot go on");
}

void join() {
    JobPlace place = join_job();
    node.arena = place.arena;
    node.rank = place.rank;
    node.application = place.application;
    node.universe_size = place.universe_size;
    RankRecord *records = rank_records(place.arena);
    node.own = &records[place.rank];
    processes.open(records, place.ranks, place.rank, place.arena->transport, job_number(*place.arena));
    node.settings = read_settings();
    open_selection();
    check_library(*place.arena);
    check_setting("VOLLEY_COLLECTIVES", selection_number(), place.arena->collectives);
    check_setting("VOLLEY_CHECK", node.settings.checking ? 1 : 0, place.arena->checking);
    open_memory();
    check_transport();
    node.shared = find_shared(*place.arena);
    // A relay is waited for as a rank is.
    const std::uint32_t relays = node_records(place.arena)[node.number()].relay_port != 0 ? 1 : 0;
    node.wait_policy = WaitPolicy::for_job(place.arena->ranks_here + relays, place.arena->cpus);
    node.fences = prepare_fences();
    SharedLock::own = static_cast<std::uint32_t>(place.rank) + 1;
    if (place.arena->recovery != 0) SharedLock::look_after_holder = end_if_gone;
    messages.prepare();
    if (processes.uses(Transport::tcp)) {
        tcp.open(std::move(place.listeners));
        if (place.arena->transport == Transport::fabric) fabric.open();
    }
    introspection.open();
    make_predefined_communicators();
    take_origin_of_job();
    joined = true;
}

/// The same where ranks may fail.
int meet_survivors() {
    if (processes.are_on_several_nodes()) {
        if (int code = meet_living_members(bootstrap_communicator())) return code;
        while (engine.progress()) {}
        return MPI_SUCCESS;
    }
    node.own->finalising.store(1, std::memory_order_release);
    node.wake_all();
    engine.wait_until([] {
        for (ProcessIndex process = 0; process < processes.ranks(); process++)
            if (processes[process].record->finalising.load(std::memory_order_acquire) == 0 && !node.has_failed(process))
                return false;
        return true;
    });
    while (engine.progress()) {}
    return MPI_SUCCESS;
}

/// Waits for all ranks: nobody will post a receive any more, and all messages of this node have arrived. The ranks of a
/// node meet in the memory they share, and the first of them then waits for the first of all other nodes.
int meet_all() {
    NodeShared &shared = *node.shared;
    const std::uint32_t all = node.ranks();
    engine.wait_until([] { return messages.all_placed(); });
    if (node.arena->recovery != 0) return meet_survivors();
    if (shared.finalising.fetch_add(1, std::memory_order_acq_rel) + 1 == all) node.wake_all();
    engine.wait_until([&] { return shared.finalising.load(std::memory_order_acquire) == all; });
    if (processes.are_on_several_nodes()) {
        const std::vector<ProcessIndex> leaders = processes.first_of_each_node();
        if (leaders[static_cast<std::size_t>(node.number())] == node.rank) {
            if (int code = BootstrapChannel("finalize").barrier(leaders, node.number())) return code;
            shared.all_finalising.store(1, std::memory_order_release);
            node.wake_all();
        }
        engine.wait_until([&] { return shared.all_finalising.load(std::memory_order_acquire) != 0; });
    }
    while (engine.progress()) {}
    return MPI_SUCCESS;
}

/// Reports messages that were never received. They show an error of the program, which could wait for them for ever
/// under another MPI.
void report_unreceived() {
    LeftMessages left = left_messages();
    for_each_queue([&](const MatchQueues &queues) {
        if (traffic_of(queues.context) != Traffic::program || is_revoked(*node.arena, queues.context)) return;
        for (Unexpected *message = queues.arrivals.first(); message; message = message->all.next)
            if (!message->is_cancelled() && left.count++ == 0)
                left = {1, message->source, message->tag, static_cast<long long>(message->bytes)};
    });
    if (left.count == 0) return;
    std::fprintf(
        stderr,
        "Volley: rank %d: MPI_Finalize was called before %s received: %d, from rank %d with tag %d, %lld bytes%s\n",
        node.rank, left.count == 1 ? "a message was" : "all messages were", left.count, left.source, left.tag,
        left.bytes, left.count == 1 ? "" : " (the first of them)");
}

/// Reports an error of this library that only costs time. It is reported at the end of every program, as nobody would
/// look for it.
void report_lost_wake_ups() {
    std::uint32_t lost = node.own->lost_wake_ups.load(std::memory_order_relaxed);
    if (lost == 0) return;
    std::fprintf(stderr,
                 "Volley: rank %d: %u %s nobody ended in time, which cost at least 0.1 s each (lost wake-ups). This is "
                 "an error of Volley: please report it\n",
                 node.rank, lost, lost == 1 ? "wait" : "waits");
}

/// Tells the launcher that a process which used only sessions ends well. This has to wait for the end of the process,
/// since another session may follow the last one. A child of the process is not the launcher's, so it tells nothing.
[[gnu::destructor]] void leave_at_end() {
    if (joined && users == 0 && node.own->program.load(std::memory_order_relaxed) == getpid()) leave_job();
}

} // namespace

int acquire_library(std::optional<int> thread_level) {
    if (!joined) {
        const std::uint32_t function = node.function().load(std::memory_order_relaxed);
        try {
            join();
        } catch (const std::exception &error) {
            // The function's number was stored before there was a record; store it there, so that the error names the
            // function.
            if (node.own) node.own->call_status.function.store(function, std::memory_order_relaxed);
            return fail(MPI_ERR_OTHER, "%s", error.what());
        }
    }
    if (users++ == 0) node.own->state = RankState::initialised;
    engine.available = true;
    // The lock serves several threads at every level (core/lock.h).
    engine.thread_level = std::max(engine.thread_level.load(), thread_level.value_or(MPI_THREAD_MULTIPLE));
    introspection.thread_level(engine.thread_level);
    if (thread_level == MPI_THREAD_MULTIPLE || node.settings.progress_thread)
        engine.lock.share_for_good();
    else
        engine.lock.make_owner(node.own->call_status.function);
    if (users == 1 && node.settings.progress_thread) start_progress_thread();
    return MPI_SUCCESS;
}

void release_library() {
    // After MPI_Finalize nobody receives any more. Sessions do not wait for each other, so here the rank waits for its
    // own messages. Meanwhile another thread may begin a session.
    if (users == 1 && engine.phase != Phase::finalised) engine.wait_until([] { return messages.all_delivered(); });
    if (--users > 0) return;
    stop_progress_thread();
    engine.lock.end_ownership();
    tcp.leave();
    report_lost_wake_ups();
    node.own->state = RankState::finalised;
    engine.available = false;
}

namespace mpi {

int Init_thread(int *, char ***, int required, int *provided) {
    if (engine.phase == Phase::initialised) return fail(MPI_ERR_OTHER, "MPI_Init was called before");
    if (engine.phase == Phase::finalised)
        return fail(MPI_ERR_OTHER, "MPI_Finalize was called: MPI_Init cannot be called again (sessions can)");
    int level = std::clamp(required, MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE);
    if (int error = acquire_library(level)) return error;
    complete_world();
    if (int error = connect_to_parent()) return error;
    main_thread = pthread_self();
    engine.phase = Phase::initialised;
    *provided = engine.thread_level;
    return MPI_SUCCESS;
}

int Init(int *argc, char ***argv) {
    int provided;
    return Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

int Finalize() {
    if (engine.phase != Phase::initialised)
        return fail(MPI_ERR_OTHER, "MPI_Finalize without MPI_Init: what sessions need is ended by "
                                   "MPI_Session_finalize");
    delete_attributes(Communicator::self());
    if (BufferedSends *buffer = process_buffer()) buffer->flush();
    if (int code = meet_all()) return code;
    if (users == 1) report_unreceived(); // with a session open, messages to its communicators are not late yet
    engine.phase = Phase::finalised;
    free_predefined_communicators();
    release_library();
    if (users == 0) leave_job();
    return MPI_SUCCESS;
}

int Initialized(int *flag) {
    *flag = engine.phase != Phase::before;
    return MPI_SUCCESS;
}

int Finalized(int *flag) {
    *flag = engine.phase == Phase::finalised;
    return MPI_SUCCESS;
}

int Query_thread(int *provided) {
    *provided = engine.thread_level;
    return MPI_SUCCESS;
}

int Is_thread_main(int *flag) {
    *flag = pthread_equal(main_thread.load(), pthread_self()) != 0;
    return MPI_SUCCESS;
}

int Abort(Communicator &comm, int errorcode) {
    abort_members(comm, errorcode);
}

} // namespace mpi
} // namespace volley
