// SPDX-License-Identifier: BSD-3-Clause
/// Makes the memory that all ranks of the job share (boot/job.h), before the first rank starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "boot/descriptor.h"
#include "boot/job.h"

namespace volley {

/// Maps an arena's file at this address and no other; nullptr if that is not possible.
ArenaHead *map_arena(int file, std::uint64_t address, std::uint64_t bytes);

/// Which ranks a job has, and where.
struct JobLayout {
    std::vector<std::int32_t> node_of; ///< by rank
    std::int32_t own = -1;             ///< the node whose arena this is; -1: all ranks are on this host
    std::string name;                  ///< of the job; empty: a new one is made
    std::string secret;                ///< secret_bytes of them; empty: they are drawn

    /// All ranks on this host; VOLLEY_NODES assigns them to nodes.
    static JobLayout one_host(int ranks);
};

/// Random bytes, secret_bytes of them. Throws Error.
std::string draw_secret();
/// A name for a job that no other job of this host has.
std::string new_job_name();

/// A memfd, mapped at an address that is free in every rank. It has no name in any file system, so nothing
/// is left of it once the last process that maps it is gone. Its descriptor is inherited by programs.
class Arena {
  public:
    /// Fills head and records; all states are absent. Throws Error.
    explicit Arena(const JobLayout &layout);
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;
    ~Arena();

    [[nodiscard]] ArenaHead *head() const {
        return head_;
    }
    [[nodiscard]] RankRecord &record(int rank) const {
        return rank_records(head_)[rank];
    }
    [[nodiscard]] NodeRecord &node(int number) const {
        return node_records(head_)[number];
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
    void make_records(const JobLayout &layout);

    Descriptor file_;
    ArenaHead *head_ = nullptr;
};

} // namespace volley
