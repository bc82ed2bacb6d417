// SPDX-License-Identifier: BSD-3-Clause
/// Makes the memory that all ranks of the job share (boot/job.h), before the first rank starts.
#pragma once

#include <cstdint>
#include <string>

#include "boot/descriptor.h"
#include "boot/job.h"

namespace volley {

/// Maps an arena's file at this address and no other; nullptr if that is not possible.
ArenaHead *map_arena(int file, std::uint64_t address, std::uint64_t bytes);

/// A memfd, mapped at an address that is free in every rank. It has no name in any file system, so nothing
/// is left of it once the last process that maps it is gone. Its descriptor is inherited by programs.
class Arena {
  public:
    /// Fills head and records; all states are absent. Throws Error.
    explicit Arena(int ranks);
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;
    ~Arena();

    [[nodiscard]] ArenaHead *head() const {
        return head_;
    }
    [[nodiscard]] RankRecord &record(int rank) const {
        return rank_records(head_)[rank];
    }
    [[nodiscard]] int ranks() const {
        return static_cast<int>(head_->ranks);
    }
    [[nodiscard]] int descriptor() const {
        return file_.get();
    }
    [[nodiscard]] std::uintptr_t address() const {
        return reinterpret_cast<std::uintptr_t>(head_);
    }

  private:
    Descriptor file_;
    ArenaHead *head_ = nullptr;
};

} // namespace volley
