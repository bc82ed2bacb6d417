// SPDX-License-Identifier: BSD-3-Clause
/// Keeps this rank's Ledger (boot/ledger.h).
#pragma once

#include "boot/ledger.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace volley {

class Communicator;

class LedgerKeeper {
  public:
    /// Begins to publish, once the arena is there. Without room for it nothing is published.
    void open();

    void thread_level(int level) {
        book_->thread_level.store(level, std::memory_order_relaxed);
    }

    // Receives.
    void posted() {
        add(book_->posted, 1);
    }
    void unposted() {
        add(book_->posted, -1);
    }

    /// A message arrived before its receive. Returns the entry for gone(), -1 if there is none.
    int arrived(int source, int tag, std::uint32_t context, std::int64_t bytes, bool at_sender);
    void gone(int entry);

    // Communicators.
    LedgerCommunicator *enter(const Communicator &communicator);
    static void rename(LedgerCommunicator &entry, std::string_view name);
    void leave(LedgerCommunicator &entry);

  private:
    /// One writer: no atomic addition.
    static void add(std::atomic<std::uint32_t> &counter, int change) {
        counter.store(counter.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(change),
                      std::memory_order_relaxed);
    }
    void offer(LedgerPage &page);

    Ledger unpublished_{}; ///< of a rank that has not joined a job
    Ledger *book_ = &unpublished_;
    LedgerPage *last_page_ = &unpublished_.communicators;
    // Entries nobody uses. Messages: numbers, as many as `free_messages_` says.
    std::array<std::int8_t, std::tuple_size_v<decltype(Ledger::messages)>> free_message_{};
    std::size_t free_messages_ = 0;
};

extern LedgerKeeper ledger;

} // namespace volley
