// SPDX-License-Identifier: BSD-3-Clause
/// Keeps this rank's StatusPage (boot/status_page.h).
#pragma once

#include "boot/status_page.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace volley {

class Communicator;

class Introspection {
  public:
    /// Begins to publish, once the arena is there. Without room for it nothing is published.
    void open();

    void thread_level(int level) {
        book_->thread_level.store(level, std::memory_order_relaxed);
    }

    /// For tests.
    const StatusPage &book() const {
        return *book_;
    }

    // Receives.
    void posted() {
        lengthen(book_->posted);
    }
    void unposted() {
        shorten(book_->posted);
    }
    /// A message looked for its receive, and the first was not the one.
    void searched_posted(std::uint64_t steps) {
        searched(book_->posted, steps);
    }

    /// A message arrived before its receive. Returns the entry for gone(), -1 if there is none.
    int arrived(int source, int tag, std::uint32_t context, std::int64_t bytes, bool at_sender);
    void gone(int entry);
    /// A receive or a probe looked for its message, and the first was not the one.
    void searched_unexpected(std::uint64_t steps) {
        searched(book_->unexpected, steps);
    }

    // Communicators.
    CommunicatorEntry *enter(const Communicator &communicator);
    static void rename(CommunicatorEntry &entry, std::string_view name);
    void leave(CommunicatorEntry &entry);

  private:
    /// One writer: no atomic addition.
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
    StatusPage *book_ = &unpublished_;
    CommunicatorPage *last_page_ = &unpublished_.communicators;
    // Entries nobody uses. Messages: numbers, as many as `free_messages_` says.
    std::array<std::int8_t, std::tuple_size_v<decltype(StatusPage::messages)>> free_message_{};
    std::size_t free_messages_ = 0;
};

extern Introspection introspection;

} // namespace volley
