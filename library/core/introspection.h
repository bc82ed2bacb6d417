// SPDX-License-Identifier: BSD-3-Clause
/// Introspection: keeps this rank's StatusPage up to date (boot/status_page.h).
#pragma once

#include "boot/status_page.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace volley {

class Communicator;

class Introspection {
  public:
    /// Begins to publish, once the arena is there. If the arena has no room for the page, nothing is published.
    void open();

    void thread_level(int level) {
        page_->thread_level.store(level, std::memory_order_relaxed);
    }

    /// For tests.
    const StatusPage &page() const {
        return *page_;
    }

    // Receives.
    void posted() {
        lengthen(page_->posted);
    }
    void unposted() {
        shorten(page_->posted);
    }
    /// A message's search passed `steps` posted receives that did not match.
    void searched_posted(std::uint64_t steps) {
        searched(page_->posted, steps);
    }

    /// A message arrived before its receive. Returns the entry for gone(); -1 if no entry is free.
    int arrived(int source, int tag, std::uint32_t context, std::int64_t bytes, bool at_sender);
    void gone(int entry);
    /// A receive or a probe searched the unexpected messages, and passed `steps` that did not match.
    void searched_unexpected(std::uint64_t steps) {
        searched(page_->unexpected, steps);
    }

    // Communicators.
    CommunicatorEntry *enter(const Communicator &communicator);
    static void rename(CommunicatorEntry &entry, std::string_view name);
    void leave(CommunicatorEntry &entry);

  private:
    /// Only this rank writes, so a load and a store do instead of an atomic addition.
    template <class Number> static Number add(std::atomic<Number> &counter, Number change) {
        const Number sum = counter.load(std::memory_order_relaxed) + change;
        counter.store(sum, std::memory_order_relaxed);
        return sum;
    }
    static void lengthen(QueueStatistics &queue) {
        const std::uint32_t length = add(queue.length, 1u);
        if (length > queue.high_watermark.load(std::memory_order_relaxed)) [[unlikely]]
            queue.high_watermark.store(length, std::memory_order_relaxed);
    }
    static void shorten(QueueStatistics &queue) {
        add(queue.length, -1u);
    }
    static void searched(QueueStatistics &queue, std::uint64_t steps) {
        add(queue.searches, std::uint64_t{1});
        add(queue.steps, steps);
    }
    void offer(CommunicatorPage &page);

    StatusPage unpublished_{}; ///< of a rank that has not joined a job
    StatusPage *page_ = &unpublished_;
    CommunicatorPage *last_page_ = &unpublished_.communicators;
    // Numbers of the message entries that are free: the first `free_messages_`.
    std::array<std::int8_t, std::tuple_size_v<decltype(StatusPage::messages)>> free_message_{};
    std::size_t free_messages_ = 0;
};

extern Introspection introspection;

} // namespace volley
