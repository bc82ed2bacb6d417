// SPDX-License-Identifier: BSD-3-Clause
#include "tool/performance_variables.h"

#include "core/communicator.h"
#include "core/engine.h"
#include "core/introspection.h"
#include "transport/memory.h"
#include "transport/shm/shared_memory.h"
#include "transport/tcp/tcp.h"

namespace volley::tool {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

using Value = std::uint64_t (*)(const Communicator *);

template <QueueStatistics StatusPage::*queue, auto field> std::uint64_t of_queue(const Communicator *) {
    return (introspection.page().*queue.*field).load(relaxed);
}

template <std::uint64_t Allocator::Statistics::*field> std::uint64_t of_arena(const Communicator *) {
    return node.arena ? arena_statistics().*field : 0;
}

template <std::uint64_t TcpStatistics::*field> std::uint64_t of_tcp(const Communicator *) {
    return tcp.statistics().*field;
}

std::uint64_t communicators(const Communicator *) {
    std::uint64_t count = 0;
    for (const CommunicatorPage *page = &introspection.page().communicators; page;) {
        for (const CommunicatorEntry &entry : page->communicators) count += entry.size.load(relaxed) != 0;
        const std::uint64_t next = page->next.load(relaxed);
        page = next ? arena_pointer<CommunicatorPage>(next) : nullptr;
    }
    return count;
}

/// Posted receives or unexpected messages.
template <QueueStatistics StatusPage::*queue>
void add_queue(std::vector<PerformanceVariable> &all, const char *const (&names)[4], const char *const (&texts)[4]) {
    constexpr Category category = Category::messages;
    all.push_back({names[0], category, MPI_T_VERBOSITY_USER_BASIC, MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED,
                   of_queue<queue, &QueueStatistics::length>, texts[0]});
    all.push_back({names[1], category, MPI_T_VERBOSITY_USER_BASIC, MPI_T_PVAR_CLASS_HIGHWATERMARK, MPI_UNSIGNED,
                   of_queue<queue, &QueueStatistics::high_watermark>, texts[1]});
    all.push_back({names[2], category, MPI_T_VERBOSITY_TUNER_BASIC, MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG,
                   of_queue<queue, &QueueStatistics::searches>, texts[2]});
    all.push_back({names[3], category, MPI_T_VERBOSITY_TUNER_BASIC, MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG,
                   of_queue<queue, &QueueStatistics::steps>, texts[3]});
}

void add_messages(std::vector<PerformanceVariable> &all) {
    add_queue<&StatusPage::posted>(
        all,
        {"volley_posted_receives", "volley_posted_receives_highest", "volley_posted_searches", "volley_posted_steps"},
        {"receives that wait for their messages", "the most receives that have ever waited for their messages",
         "messages for which the first receive looked at was not the one",
         "receives that messages were compared with in vain, and places of an index looked at"});
    add_queue<&StatusPage::unexpected>(
        all,
        {"volley_unexpected_messages", "volley_unexpected_messages_highest", "volley_unexpected_searches",
         "volley_unexpected_steps"},
        {"messages that have arrived before their receives and wait for them",
         "the most messages that have ever waited for their receives",
         "receives and probes for which the first message looked at was not the one",
         "messages that receives and probes were compared with in vain, and places of an index looked at"});
}

void add_transports(std::vector<PerformanceVariable> &all) {
    constexpr Category category = Category::transports;
    auto counter = [&](const char *name, Value value, const char *text) {
        all.push_back({name, category, MPI_T_VERBOSITY_USER_DETAIL, MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG,
                       value, text});
    };
    counter(
        "volley_shm_lines_sent", [](const Communicator *) { return shared_memory.channels.lines_sent(); },
        "cache lines of rings in shared memory that this rank has filled; a message of up to 40 bytes takes one");
    all.push_back({"volley_tcp_connections", category, MPI_T_VERBOSITY_USER_DETAIL, MPI_T_PVAR_CLASS_LEVEL,
                   MPI_UNSIGNED_LONG_LONG, of_tcp<&TcpStatistics::connections>,
                   "open TCP connections to other ranks, of both directions"});
    counter("volley_tcp_bytes_sent", of_tcp<&TcpStatistics::bytes_sent>,
            "bytes that the kernel has sent through open TCP connections, those sent again counted again");
    counter("volley_tcp_bytes_received", of_tcp<&TcpStatistics::bytes_received>,
            "bytes that have come through open TCP connections");
    counter("volley_tcp_retransmissions", of_tcp<&TcpStatistics::retransmissions>,
            "segments that the kernel has sent again through open TCP connections");
    auto of_peers = [&](const char *name, std::uint64_t (*value)(ProcessIndex), const char *text) {
        all.push_back({name, category, MPI_T_VERBOSITY_USER_DETAIL, MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG,
                       nullptr, text, MPI_T_BIND_MPI_COMM, nullptr, value});
    };
    of_peers(
        "volley_messages_to_peers", [](ProcessIndex peer) { return tcp.sent_to(peer).messages; },
        "messages that this rank has sent to each rank of the communicator, by TCP or libfabric or to another job, on "
        "any communicator");
    of_peers(
        "volley_bytes_to_peers", [](ProcessIndex peer) { return tcp.sent_to(peer).bytes; }, "bytes of these messages");
    of_peers(
        "volley_messages_from_peers", [](ProcessIndex peer) { return tcp.received_from(peer).messages; },
        "messages that have arrived from each rank of the communicator, by TCP or libfabric or from another job, on "
        "any "
        "communicator");
    of_peers(
        "volley_bytes_from_peers", [](ProcessIndex peer) { return tcp.received_from(peer).bytes; },
        "bytes of these messages");
}

void add_waiting(std::vector<PerformanceVariable> &all) {
    constexpr Category category = Category::waiting;
    auto counter = [&](const char *name, int verbosity, Value value, const char *text) {
        all.push_back({name, category, verbosity, MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG, value, text});
    };
    counter(
        "volley_long_waits", MPI_T_VERBOSITY_USER_BASIC, [](const Communicator *) { return engine.long_waits(); },
        "calls that waited longer than some microseconds");
    counter(
        "volley_yields", MPI_T_VERBOSITY_USER_DETAIL,
        [](const Communicator *) -> std::uint64_t { return core_watch.yields(); },
        "how often a waiting call has let other processes have its core");
    counter(
        "volley_sleeps", MPI_T_VERBOSITY_USER_DETAIL,
        [](const Communicator *) { return sleep_counters.sleeps.load(relaxed); },
        "how often a waiting call has slept until another rank woke it");
    all.push_back({"volley_sleep_time", category, MPI_T_VERBOSITY_USER_DETAIL, MPI_T_PVAR_CLASS_TIMER,
                   MPI_UNSIGNED_LONG_LONG, [](const Communicator *) { return sleep_counters.ns.load(relaxed); },
                   "nanoseconds that waiting calls have slept"});
    counter(
        "volley_lost_wake_ups", MPI_T_VERBOSITY_MPIDEV_BASIC,
        [](const Communicator *) -> std::uint64_t { return node.own ? node.own->lost_wake_ups.load(relaxed) : 0; },
        "sleeps that nobody ended though what was waited for was there: errors of the library");
    all.push_back({"volley_thread_level", category, MPI_T_VERBOSITY_USER_DETAIL, MPI_T_PVAR_CLASS_STATE, MPI_INT,
                   [](const Communicator *) { return static_cast<std::uint64_t>(engine.thread_level.load(relaxed)); },
                   "the level of thread support, as MPI_Query_thread gives it", MPI_T_BIND_NO_OBJECT,
                   &thread_level_enumeration});
}

void add_collectives(std::vector<PerformanceVariable> &all) {
    constexpr Category category = Category::collectives;
    all.push_back({"volley_communicators", category, MPI_T_VERBOSITY_USER_DETAIL, MPI_T_PVAR_CLASS_LEVEL,
                   MPI_UNSIGNED_LONG_LONG, communicators, "communicators that exist, the library's own among them"});
    all.push_back(
        {"volley_collective_schedules", category, MPI_T_VERBOSITY_USER_BASIC, MPI_T_PVAR_CLASS_COUNTER,
         MPI_UNSIGNED_LONG_LONG,
         [](const Communicator *communicator) -> std::uint64_t { return communicator->collectives_started(); },
         "collective operations by messages that this rank has begun on the communicator", MPI_T_BIND_MPI_COMM});
    all.push_back({"volley_collective_rounds", category, MPI_T_VERBOSITY_USER_BASIC, MPI_T_PVAR_CLASS_COUNTER,
                   MPI_UNSIGNED_LONG_LONG, [](const Communicator *communicator) { return communicator->rounds; },
                   "rounds of collective operations in shared memory that this rank has entered on the communicator",
                   MPI_T_BIND_MPI_COMM});
}

void add_memory(std::vector<PerformanceVariable> &all) {
    constexpr Category category = Category::memory;
    auto add = [&](const char *name, int variable_class, Value value, const char *text) {
        all.push_back(
            {name, category, MPI_T_VERBOSITY_USER_DETAIL, variable_class, MPI_UNSIGNED_LONG_LONG, value, text});
    };
    add("volley_arena_bytes", MPI_T_PVAR_CLASS_SIZE, of_arena<&Allocator::Statistics::whole>,
        "bytes of the memory that the ranks of this host share");
    add("volley_arena_used", MPI_T_PVAR_CLASS_LEVEL, of_arena<&Allocator::Statistics::used>,
        "bytes of it in blocks that all ranks of this host have, those they keep for later among them");
    add("volley_arena_used_highest", MPI_T_PVAR_CLASS_HIGHWATERMARK, of_arena<&Allocator::Statistics::highest>,
        "the most bytes that have ever been in such blocks");
}

std::vector<PerformanceVariable> make_variables() {
    std::vector<PerformanceVariable> all;
    add_messages(all);
    add_transports(all);
    add_waiting(all);
    add_collectives(all);
    add_memory(all);
    return all;
}

} // namespace

const std::vector<PerformanceVariable> &performance_variables() {
    static const auto *all = new std::vector<PerformanceVariable>(make_variables()); // outlives static destructors
    return *all;
}

} // namespace volley::tool
