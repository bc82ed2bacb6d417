// SPDX-License-Identifier: BSD-3-Clause
/// What the library reports to tools as events (tool/events.h), where it happens off the path of a small message.
#pragma once

#include "boot/job.h"
#include "layout/checked.h"

#include <cstdint>

namespace volley {

/// Called with the lock held.
class ToolEvents {
  public:
    /// A message has arrived before its receive, and is kept. `sender` is its rank in the job.
    virtual void unexpected_message(int sender, int tag, Count bytes) = 0;
    /// A call has waited longer than some microseconds. `peer` is the rank in the job, -1 for no single one.
    virtual void long_wait(WaitKind kind, int peer, std::uint64_t ns) = 0;

  protected:
    ~ToolEvents() = default;
};

/// nullptr while no tool asks for any event.
inline ToolEvents *tool_events = nullptr;

} // namespace volley
