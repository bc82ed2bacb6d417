// SPDX-License-Identifier: BSD-3-Clause
#include "core/introspection.h"

#include "core/communicator.h"
#include "core/engine.h"
#include "wait/clock.h"

#include <algorithm>
#include <vector>

namespace volley {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

/// The communicator entries that are free. The list outlives static destructors, which may free communicators.
std::vector<CommunicatorEntry *> &free_communicators() {
    static auto *entries = new std::vector<CommunicatorEntry *>;
    return *entries;
}

} // namespace

Introspection introspection;

void Introspection::open() {
    auto *made = static_cast<StatusPage *>(arena_allocate(sizeof(StatusPage)));
    if (!made) return;
    page_ = made;
    last_page_ = &made->communicators;
    free_messages_ = 0;
    for (std::size_t entry = made->messages.size(); entry-- > 0;)
        free_message_[free_messages_++] = static_cast<std::int8_t>(entry);
    offer(made->communicators);
    node.own->status_page.store(arena_offset(made), std::memory_order_release);
}

int Introspection::arrived(int source, int tag, std::uint32_t context, std::int64_t bytes, bool at_sender) {
    lengthen(page_->unexpected);
    if (free_messages_ == 0) return -1;
    int entry = free_message_[--free_messages_];
    UnexpectedEntry &message = page_->messages[static_cast<std::size_t>(entry)];
    message.bytes.store(bytes, relaxed);
    message.source.store(source, relaxed);
    message.tag.store(tag, relaxed);
    message.context.store(context, relaxed);
    message.at_sender.store(at_sender, relaxed);
    // The coarse clock ticks every few milliseconds, and reading it takes a fifth of the time of the exact one.
    message.arrived_ns.store(clock_ns(CLOCK_MONOTONIC_COARSE), std::memory_order_release);
    return entry;
}

void Introspection::gone(int entry) {
    shorten(page_->unexpected);
    if (entry < 0) return;
    page_->messages[static_cast<std::size_t>(entry)].arrived_ns.store(0, relaxed);
    free_message_[free_messages_++] = static_cast<std::int8_t>(entry);
}

void Introspection::offer(CommunicatorPage &page) {
    for (auto entry = page.communicators.rbegin(); entry != page.communicators.rend(); ++entry)
        free_communicators().push_back(&*entry);
}

CommunicatorEntry *Introspection::enter(const Communicator &communicator) {
    if (free_communicators().empty() && page_ != &unpublished_) {
        if (auto *page = static_cast<CommunicatorPage *>(arena_allocate(sizeof(CommunicatorPage)))) {
            last_page_->next.store(arena_offset(page), std::memory_order_release);
            last_page_ = page;
            offer(*page);
        }
    }
    if (free_communicators().empty()) return nullptr;
    CommunicatorEntry *entry = free_communicators().back();
    free_communicators().pop_back();
    entry->context.store(communicator.context(Traffic::program), relaxed);
    entry->rank.store(communicator.rank(), relaxed);
    entry->own_group.store(processes.rank_in_job(communicator.local().process(0)), relaxed);
    entry->peer_group.store(processes.rank_in_job(communicator.peer_group().process(0)), relaxed);
    entry->collectives.store(0, relaxed);
    entry->rounds.store(0, relaxed);
    rename(*entry, communicator.name());
    entry->size.store(communicator.size(), std::memory_order_release);
    return entry;
}

void Introspection::rename(CommunicatorEntry &entry, std::string_view name) {
    std::array<char, status_name_bytes> text{};
    name.copy(text.data(), text.size() - 1);
    std::ranges::copy(text, entry.name.begin());
}

void Introspection::leave(CommunicatorEntry &entry) {
    entry.size.store(0, relaxed);
    free_communicators().push_back(&entry);
}

} // namespace volley
