// SPDX-License-Identifier: BSD-3-Clause
/// A tool's end of boot/look_request.h.
#pragma once

#include "boot/descriptor.h"
#include "boot/look_request.h"

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

namespace volley::view {

/// A tool's question, from its sending to the end of the answer.
class LookQuestion {
  public:
    /// Asks whoever listens at that number; `owner` is the user whose job it is. Nothing comes if nobody does.
    LookQuestion(const ArenaHead &arena, uid_t owner);

    struct Part {
        std::int32_t node;
        std::string text; ///< empty: no answer of that host
    };
    /// The next part. Nothing: there are no more, because
    std::optional<Part> next();
    /// all have been read,
    [[nodiscard]] bool is_complete() const {
        return complete_;
    }
    /// or nobody is there who knows this job.
    [[nodiscard]] bool is_refused() const {
        return refused_;
    }

  private:
    bool read(void *to, std::size_t bytes);

    std::chrono::steady_clock::time_point until_ = std::chrono::steady_clock::now() + longest_looks;
    Descriptor socket_;
    bool complete_ = false;
    bool refused_ = true; ///< until a part has come, or the time is up
};

} // namespace volley::view
