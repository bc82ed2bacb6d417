// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/published_connection.h"

#include "transport/memory.h"
#include "transport/node.h"

#include <sys/stat.h>

#include <vector>

namespace volley {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

/// Entries that are free. The list outlives static destructors, which end connections.
std::vector<ConnectionEntry *> &free_entries() {
    static auto *entries = new std::vector<ConnectionEntry *>;
    return *entries;
}

void add_page() {
    auto *page = static_cast<ConnectionPage *>(arena_allocate(sizeof(ConnectionPage)));
    if (!page) return;
    for (auto entry = page->connections.rbegin(); entry != page->connections.rend(); ++entry)
        free_entries().push_back(&*entry);
    page->next.store(node.own->connections.load(relaxed), relaxed);
    node.own->connections.store(arena_offset(page), std::memory_order_release);
}

} // namespace

PublishedConnection::PublishedConnection(ProcessIndex peer, ConnectionEntry::Direction direction) {
    if (!node.own) return;
    if (free_entries().empty()) add_page();
    if (free_entries().empty()) return;
    entry_ = free_entries().back();
    free_entries().pop_back();
    entry_->peer.store(processes.rank_in_job(peer), relaxed);
    for (auto *counter : {&entry_->socket, &entry_->messages, &entry_->bytes, &entry_->frames_said,
                          &entry_->frames_handled, &entry_->queued})
        counter->store(0, relaxed);
    entry_->announced.store(0, relaxed);
    entry_->streams.store(0, relaxed);
    entry_->direction.store(direction, std::memory_order_release);
}

PublishedConnection::~PublishedConnection() {
    if (!entry_) return;
    entry_->direction.store(ConnectionEntry::Direction::none, relaxed);
    free_entries().push_back(entry_);
}

void PublishedConnection::socket(int descriptor) {
    struct stat facts = {};
    if (entry_ && fstat(descriptor, &facts) == 0) entry_->socket.store(facts.st_ino, relaxed);
}

} // namespace volley
