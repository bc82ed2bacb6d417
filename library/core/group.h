// SPDX-License-Identifier: BSD-3-Clause
/// Groups: ordered sets of processes, immutable and shared.
#pragma once

#include "core/object.h"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace volley {

struct SessionBuffer;

class Group final : public Object {
  public:
    static constexpr Mark kind = Mark::group;

    /// A new group with one reference. `world_ranks[i]` is the rank in the job of member i.
    /// `session`: what buffered sends need of the session it derives from; nullptr where it is none.
    static Group *make(std::vector<std::int32_t> world_ranks, std::shared_ptr<SessionBuffer> session = nullptr);
    /// All processes of the job; this process alone; nobody. They live as long as the library.
    static Group &world();
    static Group &self();
    static Group &empty();

    /// The group a handle names; nullptr for MPI_GROUP_NULL and for what is no group.
    static Group *from_handle(MPI_Group handle);
    /// MPI_GROUP_EMPTY for empty(); otherwise the address.
    MPI_Group handle();

    int size() const {
        return static_cast<int>(world_ranks_.size());
    }
    std::int32_t world_rank(int member) const {
        return world_ranks_[static_cast<std::size_t>(member)];
    }
    const std::vector<std::int32_t> &world_ranks() const {
        return world_ranks_;
    }
    const std::shared_ptr<SessionBuffer> &session() const {
        return session_;
    }
    /// This process's rank, or MPI_UNDEFINED.
    int rank() const {
        return rank_;
    }
    /// The member that is process `world_rank`, or MPI_UNDEFINED. Constant time.
    int member(std::int32_t world_rank) const;

    /// Gives one reference back; the last destroys the group.
    static void release(Group &group);

  private:
    friend class Pool<Group>;
    Group(std::vector<std::int32_t> world_ranks, std::shared_ptr<SessionBuffer> session);
    ~Group() = default;

    std::vector<std::int32_t> world_ranks_;
    /// Inverse of world_ranks_, or empty where member i is process i.
    std::vector<std::int32_t> members_;
    std::shared_ptr<SessionBuffer> session_;
    int rank_ = MPI_UNDEFINED;
};

} // namespace volley
