// SPDX-License-Identifier: BSD-3-Clause
#include "core/contexts.h"

#include "arena/shared_lock.h"
#include "boot/revocation.h"
#include "core/communicator.h"
#include "core/engine.h"
#include "core/error.h"
#include "core/messages.h"

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace volley {
namespace {

constexpr int index_bits = context_index_bits, generation_bits = context_generation_bits;
constexpr std::uint32_t most_contexts = 1 << index_bits;
/// This many indices wait before the first of them is used again.
constexpr std::uint32_t most_waiting = 1024;
/// A small arena has a small table: at most this fraction (1/256) of the arena.
constexpr std::uint64_t table_part = 256;
constexpr std::uint32_t first_drawn = self_context / traffic_kinds + 1;

constexpr std::uint32_t index_of(std::uint32_t context) {
    return context >> traffic_bits & (most_contexts - 1);
}
constexpr std::uint32_t generation_of(std::uint32_t context) {
    return context >> (traffic_bits + index_bits);
}

/// On the node that draws the index; elsewhere `departed` counts the members there, and `generation` is the first that
/// may be in use.
struct ContextRecord {
    std::atomic<std::uint32_t> generation;
    std::atomic<std::uint32_t> members, departed;
    /// The index that waits behind this one or, while the context has a name, the next one with a name; 0: none.
    std::uint32_t next;
    std::uint64_t name; ///< 0: none
};

/// Plain data in the arena, zero at first; the records follow it.
struct ContextTable {
    SharedLock lock;
    std::uint32_t used;        ///< how many of this node's indices have ever been drawn
    std::uint32_t first, last; ///< of the indices that wait; 0: none
    std::uint32_t waiting;
    std::uint32_t first_named;

    ContextRecord &record(std::uint32_t index) {
        return reinterpret_cast<ContextRecord *>(this + 1)[index];
    }
};

/// How many indices the table has room for, from 0. The table has a record for the indices of all nodes.
std::uint32_t capacity() {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(most_contexts, node.arena->bytes / table_part / sizeof(ContextRecord)));
}

/// The number of the node that draws this index.
std::uint32_t drawing_node(std::uint32_t index) {
    return (index - first_drawn) % node.arena->nodes;
}
bool is_drawn_here(std::uint32_t index) {
    return drawing_node(index) == static_cast<std::uint32_t>(node.number());
}

/// The table, made by the first process that asks; nullptr if there is no room for it.
ContextTable *find_table() {
    std::uint64_t offset = node.shared->contexts.load(std::memory_order_acquire);
    if (offset != 0) return arena_pointer<ContextTable>(offset);
    std::size_t bytes = sizeof(ContextTable) + capacity() * sizeof(ContextRecord);
    auto *made = static_cast<ContextTable *>(arena_allocate(bytes));
    if (!made) return nullptr;
    if (node.shared->contexts.compare_exchange_strong(offset, arena_offset(made), std::memory_order_acq_rel))
        return made;
    arena_release(made, bytes);
    return arena_pointer<ContextTable>(offset);
}

/// An index that nobody uses; 0: there is none. The caller holds the lock.
std::uint32_t take_index(ContextTable &table) {
    const std::uint32_t nodes = node.arena->nodes;
    std::uint32_t all = (capacity() - first_drawn) / nodes;
    bool is_fresh = table.used < all && table.waiting < std::min(most_waiting, all / 2);
    if (is_fresh) return first_drawn + static_cast<std::uint32_t>(node.number()) + table.used++ * nodes;
    std::uint32_t index = table.first;
    if (index == 0) return 0;
    table.first = table.record(index).next;
    if (table.first == 0) table.last = 0;
    table.waiting--;
    return index;
}

bool is_used(std::uint32_t context) {
    const std::uint32_t index = index_of(context);
    if (index < first_drawn || index >= capacity()) return true;
    ContextTable *table = find_table();
    if (!table) return true;
    constexpr std::uint32_t generations = 1U << generation_bits;
    std::uint32_t later = (generation_of(context) - table->record(index).generation) % generations;
    return is_drawn_here(index) ? later == 0 : later < generations / 2;
}

/// A name is told from a number by this bit.
constexpr std::uint64_t name_bit = std::uint64_t{1} << 63;

/// Those of this process's communicators that have one, by number.
std::unordered_map<std::uint32_t, std::uint64_t> names;

/// The context of that name; 0: it has none yet. The caller holds the lock.
std::uint32_t find_named(ContextTable &table, std::uint64_t name) {
    for (std::uint32_t index = table.first_named; index != 0; index = table.record(index).next)
        if (table.record(index).name == name)
            return table.record(index).generation.load(std::memory_order_relaxed) << (traffic_bits + index_bits) |
                   index << traffic_bits;
    return 0;
}

/// The caller holds the lock.
void remove_name(ContextTable &table, std::uint32_t named) {
    std::uint32_t *link = &table.first_named;
    while (*link != named) link = &table.record(*link).next;
    *link = table.record(named).next;
    table.record(named).name = 0;
}

/// Counts members that have left. True if they were the last of `members`.
bool count_departed(ContextRecord &record, int departed, std::uint32_t members) {
    auto count = static_cast<std::uint32_t>(departed);
    return record.departed.fetch_add(count, std::memory_order_acq_rel) + count == members;
}

/// A member of a communicator whose number another node has drawn leaves it. The last one on this node tells that node.
void leave_elsewhere(ContextRecord &record, std::uint32_t context, int members_here) {
    if (!count_departed(record, 1, static_cast<std::uint32_t>(members_here))) return;
    record.departed.store(0, std::memory_order_relaxed);
    record.generation.store(generation_of(context) + 1, std::memory_order_relaxed);
    if (engine.phase == Phase::finalised) return; // the other node's processes may have ended
    static const std::vector<ProcessIndex> first = processes.first_of_each_node();
    const ProcessIndex teller = first[drawing_node(index_of(context))];
    if (!node.has_failed(teller)) messages.tell_departed(teller, context, members_here);
}

LeftMessages left{};

/// Discards the messages of a communicator that is gone in all ranks, so that no send waits for them.
void empty_queues(MatchQueues &queues) {
    while (Unexpected *message = queues.arrivals.first()) {
        bool is_programs = traffic_of(queues.context) == Traffic::program && !is_revoked(*node.arena, queues.context);
        if (is_programs && !message->is_cancelled() && left.count++ == 0)
            left = {1, message->source, message->tag, static_cast<long long>(message->bytes)};
        queues.remove(*message);
        messages.discard(*message);
    }
}

/// Empties the queues of communicators that are gone in all ranks. It looks at all queues, so it does so only once as
/// many communicators have gone as there are queues (and at least 256): the cost for each of them is small.
void empty_unused_queues() {
    static std::size_t gone = 0, pause = 256;
    if (++gone < pause) return;
    gone = 0;
    std::size_t all = 0;
    std::vector<std::uint32_t> unused;
    for_each_queue([&](const MatchQueues &queues) {
        all++;
        if (!is_used(queues.context)) unused.push_back(queues.context);
    });
    for (std::uint32_t context : unused) {
        empty_queues(queues_of_context(context));
        drop_queues(context);
    }
    pause = std::max<std::size_t>(pause, all);
}

/// The caller holds the lock.
std::uint32_t draw(ContextTable &table, int members) {
    std::uint32_t index = take_index(table);
    if (index == 0) return 0;
    ContextRecord &record = table.record(index);
    record.members.store(static_cast<std::uint32_t>(members), std::memory_order_relaxed);
    record.departed.store(0, std::memory_order_relaxed);
    return record.generation.load(std::memory_order_relaxed) << (traffic_bits + index_bits) | index << traffic_bits;
}

/// The number of a named context, drawn if it has none yet; 0 if there are none left. `members_here` is 0 if it is not
/// known.
std::uint32_t number_of_name(std::uint64_t name, int members_here) {
    ContextTable *table = find_table();
    if (!table) return 0;
    std::scoped_lock hold(table->lock);
    std::uint32_t context = find_named(*table, name);
    if (context == 0) {
        context = draw(*table, members_here);
        if (context == 0) return 0;
        ContextRecord &record = table->record(index_of(context));
        record.name = name;
        record.next = std::exchange(table->first_named, index_of(context));
    }
    if (members_here > 0)
        table->record(index_of(context))
            .members.store(static_cast<std::uint32_t>(members_here), std::memory_order_relaxed);
    return context;
}

} // namespace

std::uint32_t draw_context(int members) {
    ContextTable *table = find_table();
    if (!table) return 0;
    std::scoped_lock hold(table->lock);
    return draw(*table, members);
}

SharedContext draw_shared_context(const Group &local, const Group *remote) {
    return draw_shared_context(local.size() + (remote ? remote->size() : 0),
                               local.has_other_jobs() || (remote && remote->has_other_jobs()));
}

SharedContext draw_shared_context(int members, bool several_jobs) {
    if (!several_jobs) return draw_context(members);
    SharedContext name = 0;
    if (getrandom(&name, sizeof name, 0) != sizeof name) return 0;
    return name | name_bit;
}

void give_back_shared_context(SharedContext context) {
    if ((context & name_bit) == 0) give_back_context(static_cast<std::uint32_t>(context));
}

std::uint32_t context_number(SharedContext context, int members_here) {
    if ((context & name_bit) == 0) return static_cast<std::uint32_t>(context);
    std::uint32_t number = number_of_name(context, members_here);
    if (number != 0) names[number] = context;
    return number;
}

std::uint64_t name_of_context(std::uint32_t context) {
    if (names.empty()) [[likely]]
        return 0;
    auto found = names.find(communicator_of(context));
    return found == names.end() ? 0 : found->second;
}

std::uint32_t context_of_name(std::uint64_t name) {
    return number_of_name(name, 0);
}

void give_back_context(std::uint32_t context) {
    ContextTable &table = *find_table();
    std::uint32_t index = index_of(context);
    std::scoped_lock hold(table.lock);
    ContextRecord &record = table.record(index);
    if (record.name != 0) remove_name(table, index);
    record.generation.store(record.generation.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    record.next = 0;
    (table.last != 0 ? table.record(table.last).next : table.first) = index;
    table.last = index;
    table.waiting++;
}

void leave_context(std::uint32_t context, int members_here) {
    if (!names.empty()) names.erase(context);
    const std::uint32_t index = index_of(context);
    // An index that this table is too small for is not used again.
    if (index < first_drawn || index >= capacity()) return;
    ContextTable *table = find_table();
    if (!table) return;
    ContextRecord &record = table->record(index);
    if (!is_drawn_here(index))
        leave_elsewhere(record, context, members_here);
    else if (count_departed(record, 1, record.members.load(std::memory_order_relaxed)))
        give_back_context(context);
    empty_unused_queues();
}

bool members_departed(std::uint32_t context, std::uint64_t members) {
    const std::uint32_t index = index_of(context);
    if (index < first_drawn || index >= capacity() || !is_drawn_here(index)) return false;
    ContextRecord &record = find_table()->record(index);
    const std::uint32_t all = record.members.load(std::memory_order_relaxed);
    if (members > all || generation_of(context) != record.generation % (1U << generation_bits)) return false;
    if (count_departed(record, static_cast<int>(members), all)) give_back_context(context);
    return true;
}

std::uint32_t context_index(std::uint32_t context) {
    return index_of(context);
}

std::uint32_t context_generation(std::uint32_t context) {
    return generation_of(context);
}

std::uint32_t context_indices() {
    return capacity();
}

int no_context() {
    return fail(MPI_ERR_NO_MEM, "there are too many communicators: no context number is left for another one");
}

const LeftMessages &left_messages() {
    return left;
}

} // namespace volley
