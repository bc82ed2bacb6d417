// SPDX-License-Identifier: BSD-3-Clause
/// What a connection publishes for tools (boot/status_page.h).
#pragma once

#include "boot/status_page.h"
#include "transport/process.h"

namespace volley {

/// An entry of this rank, as long as the connection is there. If the arena has no room for it, nothing is published.
class PublishedConnection {
  public:
    PublishedConnection(ProcessIndex peer, ConnectionEntry::Direction direction);
    PublishedConnection(const PublishedConnection &) = delete;
    PublishedConnection &operator=(const PublishedConnection &) = delete;
    ~PublishedConnection();

    /// nullptr: nothing is published.
    ConnectionEntry *entry() const {
        return entry_;
    }
    void socket(int descriptor);

  private:
    ConnectionEntry *entry_ = nullptr;
};

} // namespace volley
