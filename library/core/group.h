// SPDX-License-Identifier: BSD-3-Clause
/// Groups: ordered sets of processes, immutable and shared.
#pragma once

#include "core/object.h"
#include "transport/process.h"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace volley {

struct SessionBuffer;

class Group final : public Object {
  public:
    static constexpr Mark kind = Mark::group;

    /// A new group with one reference. `members[i]` is member i (transport/process.h).
    /// `session`: what buffered sends need of the session it derives from; nullptr where it is none.
    static Group *make(std::vector<ProcessIndex> members, std::shared_ptr<SessionBuffer> session = nullptr);
    /// All processes of the job; those that share memory with this one; this process alone; nobody. They live as long
    /// as the library.
    static Group &world();
    static Group &shared();
    static Group &self();
    static Group &empty();

    /// The group a handle names; nullptr for MPI_GROUP_NULL and for what is no group.
    static Group *from_handle(MPI_Group handle);
    /// MPI_GROUP_EMPTY for empty(); otherwise the address.
    MPI_Group handle();

    int size() const {
        return static_cast<int>(processes_.size());
    }
    ProcessIndex process(int member) const {
        return processes_[static_cast<std::size_t>(member)];
    }
    const std::vector<ProcessIndex> &processes() const {
        return processes_;
    }
    /// Some members are processes of other jobs.
    bool has_other_jobs() const {
        return has_other_jobs_;
    }
    const std::shared_ptr<SessionBuffer> &session() const {
        return session_;
    }
    /// This process's rank, or MPI_UNDEFINED.
    int rank() const {
        return rank_;
    }
    /// The member that is this process, or MPI_UNDEFINED. Constant time.
    int member(ProcessIndex process) const;

    /// Gives one reference back; the last destroys the group.
    static void release(Group &group);

  private:
    friend class Pool<Group>;
    Group(std::vector<ProcessIndex> members, std::shared_ptr<SessionBuffer> session);
    ~Group();

    std::vector<ProcessIndex> processes_;
    /// Inverse of processes_, as far as it was known then; empty where member i is process i.
    std::vector<int> members_;
    std::shared_ptr<SessionBuffer> session_;
    int rank_ = MPI_UNDEFINED;
    bool has_other_jobs_ = false;
};

} // namespace volley
